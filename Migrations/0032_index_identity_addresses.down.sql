-- no-transaction: undoes 0032. Accounts are found by their own addresses alone.
DROP INDEX CONCURRENTLY IF EXISTS identities_email_idx;
