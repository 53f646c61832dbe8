-- why: a mail too is promised by a row of the transaction that decides it. No code stands in a row: it is derived from the
-- key ring when the mail is made.
ALTER TABLE outbox
    DROP CONSTRAINT outbox_kind_known,
    ADD CONSTRAINT outbox_kind_known CHECK (kind IN ('revocation', 'mail')),
    ALTER COLUMN provider DROP NOT NULL,
    ALTER COLUMN realm DROP NOT NULL,
    -- What a mail says, to whom, in which language. The recipient is erased when the mail is given up.
    ADD COLUMN template text COLLATE "C",
    ADD COLUMN recipient text COLLATE "C",
    ADD COLUMN language text COLLATE "C",
    -- The code that it is to carry: only as long as that is the live one.
    ADD COLUMN code_id uuid,
    -- From then on it says nothing useful any more.
    ADD COLUMN expires_at timestamptz,
    ADD CONSTRAINT outbox_revocation_complete
        CHECK (kind <> 'revocation' OR (provider IS NOT NULL AND realm IS NOT NULL)),
    ADD CONSTRAINT outbox_mail_complete
        CHECK (kind <> 'mail' OR (template IS NOT NULL AND language IS NOT NULL AND expires_at IS NOT NULL)),
    ADD CONSTRAINT outbox_recipient_bounded CHECK (octet_length(recipient) <= 254);

-- Each kind is worked off by itself; a pile of the one must not stand in the other's way.
DROP INDEX outbox_due_idx;

CREATE INDEX outbox_due_idx ON outbox (kind, next_attempt_at) WHERE status = 'pending';

-- What is swept: mails that have expired, revocations that were done, and who was mailed when an account is deleted.
CREATE INDEX outbox_expiry_idx ON outbox (expires_at) WHERE kind = 'mail';

CREATE INDEX outbox_done_idx ON outbox (finished_at) WHERE status = 'done';

CREATE INDEX outbox_recipient_idx ON outbox (recipient) WHERE recipient IS NOT NULL;
