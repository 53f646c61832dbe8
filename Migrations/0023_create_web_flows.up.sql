-- why: people sign in to apps in a browser, through Apple and Google. What such a flow needs from one request to the next
-- is kept here, for minutes, and not in the browser; the app gets a code that says nothing. Tables of their own, which a
-- process of the release before neither reads nor writes.
CREATE TABLE web_flows (
    flow_id uuid PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    -- SHA-256 of the cookie of the browser that may continue it.
    browser_hash bytea NOT NULL,
    -- The app that it ends at, with the redirect URI, state and challenge of its request.
    app_id text COLLATE "C",
    app_redirect_uri text COLLATE "C",
    app_state text COLLATE "C",
    app_challenge text COLLATE "C",
    -- The request at /oauth/authorize that it ends at.
    oauth_request text COLLATE "C",
    -- The only provider that the app wants.
    only_provider text COLLATE "C",
    languages text[] NOT NULL,
    login_hint text COLLATE "C",
    -- The IPv4 /24 or IPv6 /64 that opened it.
    network text COLLATE "C",
    -- The provider that the browser was sent to last, and as which client.
    provider text COLLATE "C",
    realm text COLLATE "C",
    client_id text COLLATE "C",
    provider_redirect_uri text COLLATE "C",
    -- SHA-256 of the state; the nonce and the verifier, sealed.
    state_hash bytea,
    sealed_secrets bytea,
    -- The answer that Apple has posted, sealed, and the SHA-256 of the handle by which the browser comes for it.
    handle_hash bytea,
    sealed_answer bytea,
    answer_expires_at timestamptz,
    -- The proven person, sealed, and the SHA-256 of the app's code.
    sealed_person bytea,
    code_hash bytea,
    code_expires_at timestamptz,
    -- The link ticket of a flow that ends at our own page, sealed.
    sealed_ticket bytea,
    -- What the code's exchange has opened, to be ended by its second use. No references: what they name goes by itself.
    made_session_id uuid,
    made_account_id uuid,
    made_ticket_hash bytea,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT web_flows_kind_known CHECK (kind IN ('app', 'account', 'oauth')),
    CONSTRAINT web_flows_status_known
        CHECK (status IN ('new', 'sent', 'returned', 'verifying', 'linking', 'coded', 'spent', 'failed')),
    CONSTRAINT web_flows_app_complete
        CHECK ((kind = 'app') = (num_nonnulls(app_id, app_redirect_uri, app_state, app_challenge) = 4)),
    CONSTRAINT web_flows_browser_is_sha256 CHECK (octet_length(browser_hash) = 32),
    CONSTRAINT web_flows_code_complete CHECK ((code_hash IS NULL) = (code_expires_at IS NULL)),
    CONSTRAINT web_flows_answer_held_when_returned CHECK ((status = 'returned') = (handle_hash IS NOT NULL))
);

CREATE UNIQUE INDEX web_flows_state_key ON web_flows (state_hash) WHERE state_hash IS NOT NULL;
CREATE UNIQUE INDEX web_flows_handle_key ON web_flows (handle_hash) WHERE handle_hash IS NOT NULL;
CREATE UNIQUE INDEX web_flows_code_key ON web_flows (code_hash) WHERE code_hash IS NOT NULL;
CREATE INDEX web_flows_person_idx ON web_flows (code_expires_at) WHERE sealed_person IS NOT NULL;
CREATE INDEX web_flows_expiry_idx ON web_flows (expires_at);
CREATE INDEX web_flows_network_idx ON web_flows (network, flow_id)
    WHERE status IN ('new', 'sent', 'returned', 'linking');

-- The cookies of browser sessions, known by their SHA-256. The session itself is a row as any other.
CREATE TABLE web_sessions (
    session_hash bytea PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    CONSTRAINT web_sessions_hash_is_sha256 CHECK (octet_length(session_hash) = 32)
);

CREATE INDEX web_sessions_session_idx ON web_sessions (session_id);
