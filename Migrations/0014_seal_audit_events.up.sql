-- why: a row that is changed, removed or cut off afterwards is to be noticed. Rows are inserted unchained, by whoever
-- decides; a sealer then chains them by an HMAC under the key ring, which is not in the database. It goes by transaction
-- ids, because only they tell that no row with an earlier one can still appear.
ALTER TABLE audit_events
    ADD COLUMN session_id uuid,
    -- The IPv4 /24 or IPv6 /64 of whoever called.
    ADD COLUMN network text COLLATE "C",
    -- How often, for what is written down in sums.
    ADD COLUMN occurrences integer NOT NULL DEFAULT 1,
    ADD COLUMN transaction_id bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    -- Transaction ids begin anew in a cluster that a dump was restored into, and with them another chain.
    ADD COLUMN chain integer NOT NULL DEFAULT 1;

-- The order in which rows are sealed and checked.
CREATE INDEX audit_events_sealing_idx ON audit_events (chain, transaction_id, event_id, created_at);

-- Most rows are sign-ins, and nobody looks for all of those: what is rare is found by its type, and costs them nothing.
DROP INDEX audit_events_type_idx;

CREATE INDEX audit_events_type_idx ON audit_events (type, created_at) WHERE type <> 'signed_in';

-- Each row closes over everything up to (chain, transaction_id, event_id) that none before it has. Append-only, like the
-- events.
CREATE TABLE audit_seals (
    seal_number bigint PRIMARY KEY,
    chain integer NOT NULL,
    transaction_id bigint NOT NULL,
    event_id uuid NOT NULL,
    -- How many rows the seal covers, and how many it and all before it do.
    row_count bigint NOT NULL,
    total_count bigint NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    mac bytea NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT audit_seals_mac_is_sha256 CHECK (octet_length(mac) = 32),
    CONSTRAINT audit_seals_not_empty CHECK (row_count > 0)
);

-- The last seal once more, kept apart from them: so seals that are cut off are missed.
CREATE TABLE audit_head (
    is_head boolean PRIMARY KEY DEFAULT true,
    seal_number bigint NOT NULL,
    total_count bigint NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    mac bytea NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT audit_head_is_one CHECK (is_head),
    CONSTRAINT audit_head_mac_is_sha256 CHECK (octet_length(mac) = 32)
);
