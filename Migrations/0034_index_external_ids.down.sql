-- no-transaction: as its way up. Why: undoes 0034.
DROP INDEX CONCURRENTLY IF EXISTS accounts_external_id_idx;
