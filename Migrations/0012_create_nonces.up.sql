-- why: a nonce that we issue is derived from the key ring and carries its own end, so that issuing one writes nothing. Only
-- that it was used is written down, until it has ended.
CREATE TABLE nonces (
    nonce_hash bytea PRIMARY KEY,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT nonces_hash_is_sha256 CHECK (octet_length(nonce_hash) = 32)
);

CREATE INDEX nonces_expiry_idx ON nonces (expires_at);
