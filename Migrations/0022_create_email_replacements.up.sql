-- why: a person who has lost their mailbox gets another address from an administrator, a day after every mailbox of the
-- account was notified, unless that is stopped before. A table of its own: hardly any account has such a row, and it goes
-- with its account whichever release deletes that.
CREATE TABLE email_replacements (
    account_id uuid PRIMARY KEY REFERENCES accounts (account_id) ON DELETE CASCADE,
    -- The address that takes the place of the account's.
    email text COLLATE "C" NOT NULL,
    -- The name of the admin key, NULL for the command line, and the request: what takes effect is recorded with them.
    requested_by text COLLATE "C",
    request_id text COLLATE "C",
    -- Of the notices; NULL for none.
    language text COLLATE "C",
    due_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT email_replacements_email_bounded CHECK (octet_length(email) <= 254)
);

CREATE INDEX email_replacements_due_idx ON email_replacements (due_at);
