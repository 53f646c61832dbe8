-- why: takes back what the up file adds. A flow under way ends at the page of the account.
ALTER TABLE web_flows DROP COLUMN sealed_errand;
