-- no-transaction: the index is built while people go on signing in. Why: support finds a person by the id that they have in
-- the system from which they came.
CREATE INDEX CONCURRENTLY IF NOT EXISTS accounts_external_id_idx ON accounts (external_id, account_id)
    WHERE external_id IS NOT NULL;

ALTER TABLE accounts VALIDATE CONSTRAINT accounts_external_id_bounded;
