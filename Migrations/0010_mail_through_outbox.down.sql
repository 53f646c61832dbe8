-- why: takes back the promise of mails by rows of the outbox.
DELETE FROM outbox WHERE kind = 'mail';

DROP INDEX outbox_recipient_idx;

DROP INDEX outbox_done_idx;

DROP INDEX outbox_expiry_idx;

DROP INDEX outbox_due_idx;

CREATE INDEX outbox_due_idx ON outbox (next_attempt_at) WHERE status = 'pending';

ALTER TABLE outbox
    DROP CONSTRAINT outbox_recipient_bounded,
    DROP CONSTRAINT outbox_mail_complete,
    DROP CONSTRAINT outbox_revocation_complete,
    DROP COLUMN expires_at,
    DROP COLUMN code_id,
    DROP COLUMN language,
    DROP COLUMN recipient,
    DROP COLUMN template,
    ALTER COLUMN realm SET NOT NULL,
    ALTER COLUMN provider SET NOT NULL,
    DROP CONSTRAINT outbox_kind_known,
    ADD CONSTRAINT outbox_kind_known CHECK (kind IN ('revocation'));
