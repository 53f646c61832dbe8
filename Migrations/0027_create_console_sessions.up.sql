-- why: administrators sign in to the console with their key once, and a cookie stands for it afterwards. The cookie is
-- known by its SHA-256 alone. A session ends with its key: each use looks at the key's row.
CREATE TABLE console_sessions (
    session_hash bytea PRIMARY KEY,
    key_id uuid NOT NULL REFERENCES admin_keys (key_id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT console_sessions_hash_is_sha256 CHECK (octet_length(session_hash) = 32)
);
