-- why: a refresh token of a provider, sealed under the key ring. It is the person's authorization in our hands, needed to
-- check it and to revoke it. A grant is held by one of three: the link ticket of its sign-in, then the identity, in the
-- end the revocation. It moves between them by an UPDATE, still sealed.
CREATE TABLE provider_grants (
    grant_id uuid PRIMARY KEY,
    -- RESTRICT on all three: whoever deletes a holder says first what becomes of the authorization.
    identity_id uuid REFERENCES identities (identity_id) ON DELETE RESTRICT,
    ticket_hash bytea REFERENCES link_tickets (ticket_hash) ON DELETE RESTRICT,
    revocation_id uuid REFERENCES outbox (message_id) ON DELETE RESTRICT,
    provider text COLLATE "C" NOT NULL,
    realm text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    sealed_refresh_token bytea NOT NULL,
    -- Keyed digests of what Google's security events name a refresh token by: its first 16 characters, and the SHA-512
    -- of its SHA-512.
    prefix_fingerprint bytea NOT NULL,
    digest_fingerprint bytea NOT NULL,
    -- When the provider is asked next whether it still honours the token; NULL when it isn't asked.
    check_at timestamptz,
    -- The provider gave an answer that may mean that the token is dead, and is asked once more.
    doubted_at timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT provider_grants_one_holder CHECK (num_nonnulls(identity_id, ticket_hash, revocation_id) = 1),
    CONSTRAINT provider_grants_identity_client_key UNIQUE (identity_id, client_id),
    CONSTRAINT provider_grants_ticket_key UNIQUE (ticket_hash)
);

CREATE INDEX provider_grants_revocation_idx ON provider_grants (revocation_id) WHERE revocation_id IS NOT NULL;
CREATE INDEX provider_grants_check_idx ON provider_grants (check_at) WHERE identity_id IS NOT NULL;
CREATE INDEX provider_grants_subject_idx ON provider_grants (subject, provider, realm);
CREATE INDEX provider_grants_prefix_idx ON provider_grants (prefix_fingerprint);
CREATE INDEX provider_grants_digest_idx ON provider_grants (digest_fingerprint);
CREATE INDEX link_tickets_subject_idx ON link_tickets (subject, provider, realm);
CREATE INDEX link_tickets_expiry_idx ON link_tickets (expires_at);
