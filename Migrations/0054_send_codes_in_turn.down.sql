-- no-transaction: as its way up. Why: undoes 0054.
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_due_codes_idx ON outbox (next_attempt_at)
    WHERE status = 'pending' AND code_id IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS outbox_askers_idx;

DROP INDEX CONCURRENTLY IF EXISTS outbox_turns_idx;

ALTER TABLE outbox
    DROP COLUMN IF EXISTS turn_at,
    DROP COLUMN IF EXISTS asked_from;
