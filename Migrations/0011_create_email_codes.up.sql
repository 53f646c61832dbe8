-- why: a code that was mailed proves who reads the mailbox. One lives per address and purpose, for addresses with an account
-- and without alike. The digits are derived from the row and the key ring, so they stand nowhere.
CREATE TABLE email_codes (
    email text COLLATE "C" NOT NULL,
    purpose text COLLATE "C" NOT NULL,
    code_id uuid NOT NULL,
    -- The line of the key ring that it is derived under.
    key_id text COLLATE "C" NOT NULL,
    -- The link ticket that it was asked for with, and is good with.
    ticket_hash bytea,
    tries integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (email, purpose),
    CONSTRAINT email_codes_purpose_known CHECK (purpose IN ('signIn', 'bind', 'verifyEmail', 'resetPassword')),
    CONSTRAINT email_codes_ticket_for_bind CHECK ((purpose = 'bind') = (ticket_hash IS NOT NULL)),
    CONSTRAINT email_codes_email_bounded CHECK (octet_length(email) <= 254)
);

CREATE INDEX email_codes_expiry_idx ON email_codes (expires_at);

ALTER TABLE accounts
    -- The address that takes the place of the account's when its mailbox is proven.
    ADD COLUMN pending_email text COLLATE "C",
    ADD CONSTRAINT accounts_pending_email_bounded CHECK (octet_length(pending_email) <= 254);

CREATE INDEX accounts_pending_email_idx ON accounts (pending_email) WHERE pending_email IS NOT NULL;
