-- why: undoes 0045. The id of the last event of a dropped day is forgotten.
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
BEGIN
    EXECUTE replace(
        pg_get_functiondef('drop_feed_days(integer)'::regprocedure), $name$'{schema}'$name$,
        quote_literal(current_schema()));
END
$$;

ALTER TABLE feed_head DROP COLUMN dropped_event_id;
