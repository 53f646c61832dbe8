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
