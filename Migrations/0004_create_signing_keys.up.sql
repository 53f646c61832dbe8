-- why: the keys that sign access tokens, shared by all processes. The private key is sealed under the key ring, which
-- is not in the database.
CREATE TABLE signing_keys (
    key_id text COLLATE "C" PRIMARY KEY,
    sealed_private_key bytea NOT NULL,
    created_at timestamptz NOT NULL
);
