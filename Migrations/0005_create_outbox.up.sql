-- why: what has to happen outside the database is promised by a row of the transaction that decides it, and done
-- afterwards by whichever process claims the row. So far these are revocations of a person's authorization at a provider.
CREATE TABLE outbox (
    message_id uuid PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'pending',
    provider text COLLATE "C" NOT NULL,
    realm text COLLATE "C" NOT NULL,
    -- Erased some time after the end: it is only needed to order a revocation and a later sign-up of one person.
    subject text COLLATE "C",
    -- No reference: the identity may be gone before its authorization is.
    identity_id uuid,
    -- How often it was claimed: whoever claims it has the number by which it may write.
    attempts integer NOT NULL DEFAULT 0,
    -- How many scheduled attempts have failed: by this the next one is put off.
    failures integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL,
    -- While a process works on it; free again when that process dies.
    claimed_until timestamptz,
    last_error text COLLATE "C",
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    CONSTRAINT outbox_kind_known CHECK (kind IN ('revocation')),
    CONSTRAINT outbox_status_known CHECK (status IN ('pending', 'done', 'failed')),
    CONSTRAINT outbox_finished_when_ended CHECK ((status = 'pending') = (finished_at IS NULL))
);

CREATE INDEX outbox_due_idx ON outbox (next_attempt_at) WHERE status = 'pending';
CREATE INDEX outbox_subject_idx ON outbox (subject, provider, realm) WHERE subject IS NOT NULL;
