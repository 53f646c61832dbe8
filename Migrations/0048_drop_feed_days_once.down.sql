-- why: undoes 0048.
CREATE OR REPLACE FUNCTION drop_feed_days(kept integer) RETURNS SETOF text
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
    last_position bigint;
    last_id uuid;
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
        EXECUTE format('SELECT position, event_id FROM %I.%I ORDER BY position DESC LIMIT 1', home, day)
            INTO last_position, last_id;
        EXECUTE format('DROP TABLE %I.%I', home, day);
        EXECUTE format(
            'UPDATE %I.feed_head SET dropped_position = $1, dropped_event_id = $2 WHERE dropped_position < $1', home)
            USING last_position, last_id;
        RETURN NEXT day;
    END LOOP;
END
$$;

-- A function can't ask in which schema it is, so the name is written into it.
DO $$
BEGIN
    EXECUTE replace(
        pg_get_functiondef('drop_feed_days(integer)'::regprocedure), $name$'{schema}'$name$,
        quote_literal(current_schema()));
END
$$;
