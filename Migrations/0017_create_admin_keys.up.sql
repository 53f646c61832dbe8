-- no-transaction: indexes are built, and constraints looked at, while people go on signing in. Why: whoever administers
-- has a key, known by its SHA-256; what they did is in the audit trail by the key's name. And what they look for is found
-- along an index, however many rows there are.
CREATE TABLE IF NOT EXISTS admin_keys (
    key_id uuid PRIMARY KEY,
    -- May repeat: a key is renewed under its name.
    name text COLLATE "C" NOT NULL,
    key_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL,
    -- Kept to the minute.
    last_used_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT admin_keys_hash_key UNIQUE (key_hash),
    CONSTRAINT admin_keys_hash_is_sha256 CHECK (octet_length(key_hash) = 32),
    CONSTRAINT admin_keys_name_bounded CHECK (octet_length(name) BETWEEN 1 AND 100),
    CONSTRAINT admin_keys_scopes_known CHECK (scopes <@ ARRAY['read', 'revoke', 'manage'] AND cardinality(scopes) > 0)
);

-- The name of the admin key that made it happen.
ALTER TABLE audit_events ADD COLUMN IF NOT EXISTS actor_name text COLLATE "C";

ALTER TABLE audit_events
    DROP CONSTRAINT IF EXISTS audit_events_actor_name_bounded,
    ADD CONSTRAINT audit_events_actor_name_bounded CHECK (octet_length(actor_name) <= 100) NOT VALID,
    DROP CONSTRAINT IF EXISTS audit_events_actor_known,
    ADD CONSTRAINT audit_events_actor_known
        CHECK (actor IN ('person', 'operator', 'administrator', 'provider', 'service')) NOT VALID;

ALTER TABLE audit_events VALIDATE CONSTRAINT audit_events_actor_name_bounded;

ALTER TABLE audit_events VALIDATE CONSTRAINT audit_events_actor_known;

CREATE INDEX CONCURRENTLY IF NOT EXISTS accounts_name_idx ON accounts (lower(display_name), account_id)
    WHERE display_name IS NOT NULL;

CREATE INDEX CONCURRENTLY IF NOT EXISTS accounts_disabled_idx ON accounts (account_id) WHERE status = 'disabled';

CREATE INDEX CONCURRENTLY IF NOT EXISTS identities_subject_idx ON identities (subject);

CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_status_idx ON outbox (status, message_id);

CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_revocations_idx ON outbox (message_id) WHERE kind = 'revocation';

CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_revocation_status_idx ON outbox (status, message_id)
    WHERE kind = 'revocation';
