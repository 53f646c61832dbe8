-- no-transaction: as its way up. Why: undoes 0051.
DROP INDEX CONCURRENTLY IF EXISTS outbox_due_codes_idx;
