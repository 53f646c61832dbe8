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
    -- The address that takes the place of the account's when its mailbox is proven, and until when it may.
    ADD COLUMN pending_email text COLLATE "C",
    ADD COLUMN pending_email_expires_at timestamptz,
    -- True of every row there is; to look would hold up everybody who signs in.
    ADD CONSTRAINT accounts_pending_email_bounded CHECK (octet_length(pending_email) <= 254) NOT VALID,
    ADD CONSTRAINT accounts_pending_email_expires
        CHECK ((pending_email IS NULL) = (pending_email_expires_at IS NULL)) NOT VALID;
