-- no-transaction: the indexes are built while mails are sent. Why: one network asked for thousands of codes, and everybody's
-- waited behind them to the end of their life. Now they are sent in turn by the networks that ask.
ALTER TABLE outbox
    -- The wide network, a blank and the network that a code was asked for from. A process of the release before writes none.
    ADD COLUMN IF NOT EXISTS asked_from text COLLATE "C",
    -- Codes that are due are sent in its order: when it was asked for, and later where its networks have others that wait.
    ADD COLUMN IF NOT EXISTS turn_at timestamptz NOT NULL DEFAULT now();

CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_turns_idx ON outbox (turn_at, next_attempt_at)
    WHERE status = 'pending' AND code_id IS NOT NULL;

CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_askers_idx ON outbox (asked_from)
    WHERE status = 'pending' AND asked_from IS NOT NULL;

-- A process of the release before has no use for it either.
DROP INDEX CONCURRENTLY IF EXISTS outbox_due_codes_idx;
