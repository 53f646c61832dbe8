-- why: events are pushed to the customer's own backend. An endpoint walks the feed with a position, so that one which is quiet
-- or dead costs no row an event; only what failed is kept, by account, and what follows it in that account waits behind it.

CREATE TABLE webhook_endpoints (
    name text COLLATE "C" PRIMARY KEY,
    status text COLLATE "C" NOT NULL DEFAULT 'active',
    -- Why it is stopped.
    reason text COLLATE "C",
    -- Since when nothing has succeeded that was tried.
    failing_since timestamptz,
    last_success_at timestamptz,
    last_error text COLLATE "C",
    -- When it was last in a configuration.
    seen_at timestamptz NOT NULL,
    -- The process that pushes, and until when no other may. By the database's clock.
    leased_by uuid,
    leased_until timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT webhook_endpoints_status_known CHECK (status IN ('active', 'paused', 'stopped'))
);

-- What is pushed to an endpoint: the feed from a position on, or a stretch of it once more.
CREATE TABLE webhook_streams (
    stream_id uuid PRIMARY KEY,
    endpoint text COLLATE "C" NOT NULL REFERENCES webhook_endpoints (name) ON DELETE CASCADE,
    -- What is not behind it is delivered, given up, parked, or of no type that was asked for.
    position bigint NOT NULL,
    -- The end of a stretch, and its types; NULL for the stream that never ends.
    until_position bigint,
    types text[] COLLATE "C",
    created_at timestamptz NOT NULL,
    CONSTRAINT webhook_streams_stretch_is_whole CHECK ((until_position IS NULL) = (types IS NULL))
);

CREATE UNIQUE INDEX webhook_streams_endless_key ON webhook_streams (endpoint) WHERE until_position IS NULL;

CREATE INDEX webhook_streams_endpoint_idx ON webhook_streams (endpoint);

-- An account of which an event failed. Its later events up to the stream's position wait in the feed.
CREATE TABLE webhook_parked (
    stream_id uuid NOT NULL REFERENCES webhook_streams (stream_id) ON DELETE CASCADE,
    account_id uuid NOT NULL,
    -- Of the event that is tried again.
    position bigint NOT NULL,
    attempts integer NOT NULL,
    next_attempt_at timestamptz NOT NULL,
    last_error text COLLATE "C",
    PRIMARY KEY (stream_id, account_id)
);

CREATE INDEX webhook_parked_due_idx ON webhook_parked (stream_id, next_attempt_at);

-- Events that were given up.
CREATE TABLE webhook_failures (
    endpoint text COLLATE "C" NOT NULL REFERENCES webhook_endpoints (name) ON DELETE CASCADE,
    event_id uuid NOT NULL,
    position bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    account_id uuid NOT NULL,
    external_id text COLLATE "C",
    sequence bigint NOT NULL,
    members text COLLATE "C" NOT NULL,
    happened_at timestamptz NOT NULL,
    attempts integer NOT NULL,
    last_error text COLLATE "C" NOT NULL,
    given_up_at timestamptz NOT NULL,
    PRIMARY KEY (endpoint, event_id)
);

CREATE INDEX webhook_failures_given_up_idx ON webhook_failures (given_up_at);

-- The events of a parked account.
CREATE INDEX account_events_account_idx ON account_events (account_id, position);
