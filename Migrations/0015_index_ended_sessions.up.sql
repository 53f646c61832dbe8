-- no-transaction: indexes are built, and constraints looked at, while people go on signing in. Why: ended sessions are swept
-- by theirs; a refresh changes no column of it, so it stays as cheap as it was. A mailed code finds who awaits it by the
-- other.
CREATE INDEX CONCURRENTLY IF NOT EXISTS sessions_ended_idx ON sessions (ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX CONCURRENTLY IF NOT EXISTS accounts_pending_email_idx ON accounts (pending_email)
    WHERE pending_email IS NOT NULL;

ALTER TABLE accounts VALIDATE CONSTRAINT accounts_pending_email_bounded;

ALTER TABLE accounts VALIDATE CONSTRAINT accounts_pending_email_expires;
