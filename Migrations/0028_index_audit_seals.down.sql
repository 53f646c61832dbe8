-- no-transaction: undoes 0028, while seals are added.
DROP INDEX CONCURRENTLY IF EXISTS audit_seals_position_idx;

DROP INDEX CONCURRENTLY IF EXISTS audit_seals_created_at_idx;
