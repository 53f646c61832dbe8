-- why: who registers by an address on our page has an account when the code that was mailed there is typed, not before. For
-- these ten minutes the name and the hash of the password wait with the flow, sealed. The code is one of this flow alone, so
-- that the mailbox's reader can't be led to finish what somebody else has begun.
CREATE TABLE web_registrations (
    flow_id uuid PRIMARY KEY REFERENCES web_flows (flow_id) ON DELETE CASCADE,
    email text COLLATE "C" NOT NULL,
    -- What the code is for: `signIn` where an account claims the address that nobody has proven.
    code_purpose text COLLATE "C" NOT NULL,
    sealed_registration bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT web_registrations_purpose_known CHECK (code_purpose IN ('register', 'signIn'))
);

CREATE INDEX web_registrations_expiry_idx ON web_registrations (expires_at);

ALTER TABLE mailed_codes
    DROP CONSTRAINT mailed_codes_purpose_known,
    DROP CONSTRAINT mailed_codes_ticket_for_bind,
    ADD CONSTRAINT mailed_codes_purpose_known
        CHECK (purpose IN ('signIn', 'bind', 'verifyEmail', 'resetPassword', 'register')),
    ADD CONSTRAINT mailed_codes_ticket_where_needed
        CHECK ((purpose IN ('bind', 'register')) = (ticket_hash IS NOT NULL));
