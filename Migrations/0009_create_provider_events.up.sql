-- why: what Apple and Google tell of a person (a withdrawn consent, a deleted or hijacked account) is stored once, however
-- often it is delivered, and acted on afterwards in one transaction. A row is one event of a token; Google's may hold
-- several. No claim is kept that acting on it doesn't need.
CREATE TABLE provider_events (
    event_id uuid PRIMARY KEY,
    provider text COLLATE "C" NOT NULL,
    -- The token's id, and the event's place in the token.
    jti text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    -- As it was sent, and what it is to us, if anything.
    type text COLLATE "C" NOT NULL,
    kind text COLLATE "C",
    realm text COLLATE "C" NOT NULL,
    subject text COLLATE "C",
    -- Of a disabled account: why. Of a verification: its state.
    detail text COLLATE "C",
    -- What an event names a refresh token by, as provider_grants has it; under each key of the key ring.
    token_fingerprints bytea[],
    occurred_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'pending',
    processed_at timestamptz,
    CONSTRAINT provider_events_token_key UNIQUE (provider, jti, position),
    CONSTRAINT provider_events_status_known
        CHECK (status IN ('pending', 'done', 'outdated', 'unknown_subject', 'unknown_type')),
    CONSTRAINT provider_events_processed_unless_pending CHECK ((status = 'pending') = (processed_at IS NULL)),
    CONSTRAINT provider_events_bounded
        CHECK (octet_length(jti) <= 255 AND octet_length(type) <= 255 AND octet_length(detail) <= 255)
);

CREATE INDEX provider_events_pending_idx ON provider_events (received_at) WHERE status = 'pending';
CREATE INDEX provider_events_subject_idx ON provider_events (subject, provider, realm) WHERE subject IS NOT NULL;
CREATE INDEX provider_events_received_idx ON provider_events (received_at);

ALTER TABLE identities
    -- Whether mail to a relay address arrives; NULL while Apple has said nothing of it.
    ADD COLUMN email_deliverable boolean,
    -- Since when the provider has had the account disabled: it signs nobody in until it is enabled again.
    ADD COLUMN blocked_at timestamptz,
    -- When the provider last ended what the identity had opened: a token from before that opens nothing more.
    ADD COLUMN not_before timestamptz;

ALTER TABLE sessions
    -- When the person of the identity that opened it proved to the provider to be there. Later than that is auth_time
    -- when a password or a session bound the identity.
    ADD COLUMN provider_auth_time timestamptz;
