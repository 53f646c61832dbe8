-- no-transaction: undoes 0050 without waiting for writers.
DROP INDEX CONCURRENTLY IF EXISTS provider_events_unknown_idx;
