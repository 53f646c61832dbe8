-- no-transaction: the index is built while people go on signing in. Why: support is given the relay address that a provider
-- has made up, or another that a provider states, and looks for the account.
CREATE INDEX CONCURRENTLY IF NOT EXISTS identities_email_idx ON identities (email) WHERE email IS NOT NULL;
