-- no-transaction: the index is built while people go on signing in. Why: what looks at an account's live sessions read those that
-- have ended, too, of which there may be many. A refresh changes no column of it, so it stays as cheap as it was.
CREATE INDEX CONCURRENTLY IF NOT EXISTS sessions_live_idx ON sessions (account_id) WHERE ended_at IS NULL;
