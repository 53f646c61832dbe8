-- no-transaction: undoes 0030, an index at a time. The trail is searched by account, type and time alone.
DROP INDEX IF EXISTS audit_events_request_idx;
DROP INDEX IF EXISTS audit_events_identity_idx;
DROP INDEX IF EXISTS audit_events_network_idx;
DROP INDEX IF EXISTS audit_events_actor_name_idx;
DROP INDEX IF EXISTS audit_events_actor_idx;

-- Where the way up was cut off, partitions have indexes that belong to none of these.
DO $$
DECLARE
    part text;
    columns text;
BEGIN
    FOR part IN
        SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid
        WHERE inhparent = 'audit_events'::regclass ORDER BY relname
    LOOP
        FOREACH columns IN ARRAY ARRAY[
            'request_id_created_at', 'identity_id_created_at', 'network_created_at', 'actor_name_created_at', 'actor_created_at']
        LOOP
            EXECUTE format('DROP INDEX IF EXISTS %I', part || '_' || columns || '_idx');
        END LOOP;
        COMMIT;
    END LOOP;
END
$$;
