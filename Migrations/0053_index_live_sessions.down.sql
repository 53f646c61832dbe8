-- no-transaction: as its way up. Why: undoes 0053.
DROP INDEX CONCURRENTLY IF EXISTS sessions_live_idx;
