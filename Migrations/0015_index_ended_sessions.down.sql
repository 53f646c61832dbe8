-- no-transaction: takes back the two indexes while people go on signing in.
DROP INDEX CONCURRENTLY IF EXISTS accounts_pending_email_idx;

DROP INDEX CONCURRENTLY IF EXISTS sessions_ended_idx;
