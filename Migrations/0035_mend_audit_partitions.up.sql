-- why: 0026 was edited after it had been applied, so databases differ in its function. This makes it the same in all.
-- mends: 0026 b4251e9d83db8e76a86442473cffbffb4b7a248b37a0cfc71e52d5729b73a477
-- mends: 0026 a8cb4b925d868fdf18688ce82d59c4f1134290656e835df3dc1704988954c165
--
-- Two forms looked names up along the search path of the schema's owner. Here no name is the caller's to give a meaning to:
-- what is not qualified is the server's own, and the tables are those of the schema that the migration is applied to.
CREATE OR REPLACE FUNCTION make_audit_partitions() RETURNS TABLE (partition_name text, outcome text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Readers wait behind an ATTACH that waits for the default partition.
SET lock_timeout = '1s'
-- Bounds are written and read as text: not as the caller's session would have it.
SET datestyle = 'ISO'
SET timezone = 'UTC'
AS $$
DECLARE
    home text := '{schema}';
    audit_events regclass := format('%I.audit_events', home)::regclass;
    first_month timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
    from_time timestamptz;
    to_time timestamptz;
    is_in_default boolean;
BEGIN
    -- Another process is making them.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('countersign audit partitions', 0)) THEN
        RETURN;
    END IF;
    FOR number IN 0..3 LOOP
        from_time := (first_month + make_interval(months => number)) AT TIME ZONE 'UTC';
        to_time := (first_month + make_interval(months => number + 1)) AT TIME ZONE 'UTC';
        partition_name := 'audit_events_' || to_char(first_month + make_interval(months => number), 'YYYY_MM');
        CONTINUE WHEN EXISTS (
            SELECT FROM pg_inherits i
            WHERE i.inhparent = audit_events
                AND i.inhrelid = to_regclass(format('%I.%I', home, partition_name)));
        EXECUTE format(
            'SELECT EXISTS (SELECT FROM %I.audit_events_default WHERE created_at >= $1 AND created_at < $2)', home)
            INTO is_in_default USING from_time, to_time;
        IF is_in_default THEN
            outcome := 'rows_in_default';
        ELSE
            BEGIN
                EXECUTE format(
                    'CREATE TABLE %1$I.%2$I (LIKE %1$I.audit_events INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
                    home, partition_name);
                -- Default privileges of the owner's may have given some to the service.
                IF session_user <> current_user THEN
                    EXECUTE format('REVOKE ALL ON TABLE %I.%I FROM %I', home, partition_name, session_user);
                END IF;
                EXECUTE format(
                    'ALTER TABLE %1$I.audit_events ATTACH PARTITION %1$I.%2$I FOR VALUES FROM (%3$L) TO (%4$L)',
                    home, partition_name, from_time, to_time);
                outcome := 'made';
            EXCEPTION
                WHEN check_violation THEN outcome := 'rows_in_default';
                WHEN duplicate_table THEN outcome := 'name_taken';
                WHEN invalid_object_definition THEN outcome := 'overlaps';
                WHEN lock_not_available OR deadlock_detected THEN outcome := 'locked';
            END;
        END IF;
        RETURN NEXT;
        EXIT WHEN outcome = 'locked';
    END LOOP;
END
$$;

-- A function can't ask in which schema it is, so the name is written into it.
DO $$
BEGIN
    EXECUTE replace(
        pg_get_functiondef('make_audit_partitions()'::regprocedure), $name$'{schema}'$name$,
        quote_literal(current_schema()));
END
$$;

REVOKE ALL ON FUNCTION make_audit_partitions() FROM PUBLIC;
