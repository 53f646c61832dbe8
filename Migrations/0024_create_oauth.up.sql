-- why: the service is an OAuth 2.0 server for what people link their accounts to. Codes, tokens and secrets are known by
-- their SHA-256 alone. What comes of one code, or of one assertion, is a chain: a second use of the code ends all of it.
-- Deleting an account, a grant or a chain deletes what hangs on it, whichever release does it.
CREATE TABLE oauth_clients (
    client_id text COLLATE "C" PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    redirect_uris text[] NOT NULL,
    -- NULL: all that are configured.
    scopes text[],
    -- What the assertions of streamlined linking may be addressed to: Google's own client IDs.
    assertion_audiences text[] NOT NULL,
    require_pkce boolean NOT NULL,
    rotate_refresh boolean NOT NULL,
    streamlined_create boolean NOT NULL,
    -- Whether it may look at the tokens of all clients.
    introspect boolean NOT NULL,
    status text COLLATE "C" NOT NULL,
    secret_hash bytea NOT NULL,
    -- The secret before a rotation, and until when it counts.
    previous_secret_hash bytea,
    previous_secret_expires_at timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT oauth_clients_status_known CHECK (status IN ('active', 'disabled')),
    CONSTRAINT oauth_clients_secret_is_sha256 CHECK (octet_length(secret_hash) = 32),
    CONSTRAINT oauth_clients_previous_complete
        CHECK ((previous_secret_hash IS NULL) = (previous_secret_expires_at IS NULL))
);

CREATE TABLE oauth_grants (
    grant_id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (account_id) ON DELETE CASCADE,
    client_id text COLLATE "C" NOT NULL REFERENCES oauth_clients (client_id),
    -- All that were granted, whenever.
    scopes text[] NOT NULL,
    linked_at timestamptz NOT NULL,
    last_used_at timestamptz,
    CONSTRAINT oauth_grants_account_client_key UNIQUE (account_id, client_id)
);

CREATE TABLE oauth_chains (
    chain_id uuid PRIMARY KEY,
    grant_id uuid NOT NULL REFERENCES oauth_grants (grant_id) ON DELETE CASCADE,
    origin text COLLATE "C" NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT oauth_chains_origin_known CHECK (origin IN ('web', 'flip', 'assertion'))
);

CREATE INDEX oauth_chains_grant_idx ON oauth_chains (grant_id);

CREATE TABLE oauth_codes (
    code_hash bytea PRIMARY KEY,
    chain_id uuid NOT NULL REFERENCES oauth_chains (chain_id) ON DELETE CASCADE,
    redirect_uri text COLLATE "C" NOT NULL,
    -- S256 of the client's verifier (RFC 7636 §4.2).
    challenge text COLLATE "C",
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    CONSTRAINT oauth_codes_hash_is_sha256 CHECK (octet_length(code_hash) = 32)
);

CREATE INDEX oauth_codes_chain_idx ON oauth_codes (chain_id);
CREATE INDEX oauth_codes_expiry_idx ON oauth_codes (expires_at);

CREATE TABLE oauth_refresh_tokens (
    token_hash bytea PRIMARY KEY,
    chain_id uuid NOT NULL REFERENCES oauth_chains (chain_id) ON DELETE CASCADE,
    -- SHA-512 of the SHA-512 of the token: how Google is informed of its end by a security event.
    fingerprint bytea NOT NULL,
    -- The token in whose place it was issued, which is good until this one has been used.
    predecessor_hash bytea,
    -- When its successor was used; used after that it ends the chain.
    superseded_at timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT oauth_refresh_tokens_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
    CONSTRAINT oauth_refresh_tokens_fingerprint_is_sha512 CHECK (octet_length(fingerprint) = 64)
);

CREATE INDEX oauth_refresh_tokens_chain_idx ON oauth_refresh_tokens (chain_id);
CREATE INDEX oauth_refresh_tokens_superseded_idx ON oauth_refresh_tokens (superseded_at)
    WHERE superseded_at IS NOT NULL;

CREATE TABLE oauth_access_tokens (
    token_hash bytea PRIMARY KEY,
    chain_id uuid NOT NULL REFERENCES oauth_chains (chain_id) ON DELETE CASCADE,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT oauth_access_tokens_hash_is_sha256 CHECK (octet_length(token_hash) = 32)
);

CREATE INDEX oauth_access_tokens_chain_idx ON oauth_access_tokens (chain_id);
CREATE INDEX oauth_access_tokens_expiry_idx ON oauth_access_tokens (expires_at);

-- The name of the client that a mail is about.
ALTER TABLE outbox ADD COLUMN client_name text COLLATE "C";
