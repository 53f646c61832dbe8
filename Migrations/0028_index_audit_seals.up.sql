-- no-transaction: the index is built while seals are added. Why: a check and an export of the audit trail begin and end with
-- the seals of a period, which are found by their time, and by the rows that they cover, however many seals there are.
CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_seals_created_at_idx ON audit_seals (created_at, seal_number);

CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_seals_position_idx
    ON audit_seals (chain, transaction_id, event_id, seal_number);
