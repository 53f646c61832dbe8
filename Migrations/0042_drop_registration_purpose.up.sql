-- why: the code of a registration has one purpose, whoever claims the address: it finishes that registration alone.
ALTER TABLE web_registrations DROP COLUMN code_purpose;
