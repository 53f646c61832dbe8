-- no-transaction: the index is built while mails are sent. Why: people wait for a mailed code, which is good for ten minutes.
-- By it the next one is found, however many notices have been due for longer.
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_due_codes_idx ON outbox (next_attempt_at)
    WHERE status = 'pending' AND code_id IS NOT NULL;
