-- why: takes back the mailed codes and the change of an account's address.
ALTER TABLE accounts
    DROP COLUMN pending_email,
    DROP COLUMN pending_email_expires_at;

DROP TABLE email_codes;
