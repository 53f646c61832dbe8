-- why: a customer's own backend follows what happens to accounts. Whatever changes an account writes an event in its
-- transaction. The order of the feed can't be known there: of two transactions the later number, time or id may commit
-- first. So events arrive without a position, and get one when they are committed, from one hand at a time.

-- The number of each account's last event. It is taken last of all in a transaction and held until its end, so the events
-- of one account are numbered in the order of their commits. No reference: an event may follow the deletion.
CREATE TABLE account_sequences (
    account_id uuid PRIMARY KEY,
    last_sequence bigint NOT NULL,
    -- Since when the account is gone.
    ended_at timestamptz
) WITH (fillfactor = 80);

CREATE INDEX account_sequences_ended_idx ON account_sequences (ended_at) WHERE ended_at IS NOT NULL;

-- Committed events that have no position yet: few, and gone within moments.
CREATE TABLE unstamped_events (
    arrival bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id uuid NOT NULL,
    type text COLLATE "C" NOT NULL,
    account_id uuid NOT NULL,
    external_id text COLLATE "C",
    sequence bigint NOT NULL,
    -- The further members of the event's `data`: a JSON object, in the spelling that is handed out.
    members text COLLATE "C" NOT NULL,
    happened_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- The feed. A position is the microsecond of its stamping, or one more than the last: it never comes again, not even when a
-- standby takes over that lacks the last ones. So a day's events lie in one partition, which is dropped as a whole.
CREATE TABLE account_events (
    position bigint NOT NULL,
    event_id uuid NOT NULL,
    type text COLLATE "C" NOT NULL,
    account_id uuid NOT NULL,
    external_id text COLLATE "C",
    sequence bigint NOT NULL,
    members text COLLATE "C" NOT NULL,
    happened_at timestamptz NOT NULL,
    CONSTRAINT account_events_pkey PRIMARY KEY (position)
) PARTITION BY RANGE (position);

CREATE INDEX account_events_event_idx ON account_events (event_id);

-- The ends of the feed. Who gives positions holds the row.
CREATE TABLE feed_head (
    is_only boolean PRIMARY KEY DEFAULT true,
    last_position bigint NOT NULL DEFAULT 0,
    -- The last position that was dropped.
    dropped_position bigint NOT NULL DEFAULT 0,
    CONSTRAINT feed_head_is_one CHECK (is_only)
);

INSERT INTO feed_head DEFAULT VALUES;

-- Whose account the authorization was: the event says so when it is revoked.
ALTER TABLE outbox ADD COLUMN account_id uuid;

CREATE INDEX outbox_account_idx ON outbox (account_id)
    WHERE kind = 'revocation' AND status <> 'done' AND account_id IS NOT NULL;

-- Makes the partitions of today and the next three days. The service owns nothing, so this is the owner's; as
-- make_audit_partitions, it takes no name from its caller.
CREATE FUNCTION make_feed_days() RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
DECLARE
    home text := '{schema}';
    day date;
    partition_name text;
BEGIN
    -- Another process is making them.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('countersign feed days', 0)) THEN
        RETURN;
    END IF;
    FOR number IN 0..3 LOOP
        day := (now() AT TIME ZONE 'UTC')::date + number;
        partition_name := 'account_events_' || to_char(day, 'YYYY_MM_DD');
        CONTINUE WHEN to_regclass(format('%I.%I', home, partition_name)) IS NOT NULL;
        EXECUTE format(
            'CREATE TABLE %1$I.%2$I (LIKE %1$I.account_events INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
            home, partition_name);
        -- Default privileges of the owner's may have given some to the service.
        IF session_user <> current_user THEN
            EXECUTE format('REVOKE ALL ON TABLE %I.%I FROM %I', home, partition_name, session_user);
        END IF;
        EXECUTE format(
            'ALTER TABLE %1$I.account_events ATTACH PARTITION %1$I.%2$I FOR VALUES FROM (%3$s) TO (%4$s)',
            home, partition_name, (extract(epoch FROM day) * 1000000)::bigint,
            (extract(epoch FROM day + 1) * 1000000)::bigint);
    END LOOP;
END
$$;

-- Drops the days that are older than those to keep, of which there is one at least, and notes where the feed begins now.
CREATE FUNCTION drop_feed_days(kept integer) RETURNS SETOF text
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Readers wait behind it.
SET lock_timeout = '1s'
AS $$
DECLARE
    home text := '{schema}';
    oldest text := 'account_events_'
        || to_char((now() AT TIME ZONE 'UTC')::date - GREATEST(kept, 1), 'YYYY_MM_DD');
    day text;
    last bigint;
BEGIN
    FOR day IN
        SELECT c.relname
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = format('%I.account_events', home)::regclass AND c.relname < oldest COLLATE "C"
        ORDER BY c.relname
    LOOP
        -- First, as who gives positions does.
        EXECUTE format('SELECT FROM %I.feed_head FOR UPDATE', home);
        EXECUTE format('SELECT max(position) FROM %I.%I', home, day) INTO last;
        EXECUTE format('DROP TABLE %I.%I', home, day);
        EXECUTE format(
            'UPDATE %I.feed_head SET dropped_position = GREATEST(dropped_position, $1)', home) USING last;
        RETURN NEXT day;
    END LOOP;
END
$$;

-- A function can't ask in which schema it is, so the name is written into it.
DO $$
DECLARE
    made text;
BEGIN
    FOREACH made IN ARRAY ARRAY['make_feed_days()', 'drop_feed_days(integer)'] LOOP
        EXECUTE replace(
            pg_get_functiondef(made::regprocedure), $name$'{schema}'$name$, quote_literal(current_schema()));
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION make_feed_days() FROM PUBLIC;

REVOKE ALL ON FUNCTION drop_feed_days(integer) FROM PUBLIC;

SELECT make_feed_days();

-- A key may be good for the feed alone.
ALTER TABLE admin_keys
    DROP CONSTRAINT admin_keys_scopes_known,
    ADD CONSTRAINT admin_keys_scopes_known
        CHECK (scopes <@ ARRAY['read', 'revoke', 'manage', 'feed'] AND cardinality(scopes) > 0);
