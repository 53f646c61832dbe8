-- no-transaction: each index of a month of the trail is committed before the next. Why: support asks the trail for a request, an
-- identity, a network or whoever acted, among hundreds of millions of rows.
--
-- CONCURRENTLY is not for partitioned tables, and not for a loop over their partitions. Months that have passed have no
-- writers; who writes to this month's waits while its indexes are built. The names are those that a partition gets which is
-- made later.
DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN
        SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'audit_events'::regclass ORDER BY inhrelid
    LOOP
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS %I ON %s (request_id, created_at) WHERE request_id IS NOT NULL',
            (SELECT relname FROM pg_class WHERE oid = part) || '_request_id_created_at_idx', part);
        COMMIT;
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS %I ON %s (identity_id, created_at) WHERE identity_id IS NOT NULL',
            (SELECT relname FROM pg_class WHERE oid = part) || '_identity_id_created_at_idx', part);
        COMMIT;
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS %I ON %s (network, created_at) WHERE network IS NOT NULL',
            (SELECT relname FROM pg_class WHERE oid = part) || '_network_created_at_idx', part);
        COMMIT;
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS %I ON %s (actor_name, created_at) WHERE actor_name IS NOT NULL',
            (SELECT relname FROM pg_class WHERE oid = part) || '_actor_name_created_at_idx', part);
        COMMIT;
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS %I ON %s (actor, created_at) WHERE actor <> ''person''',
            (SELECT relname FROM pg_class WHERE oid = part) || '_actor_created_at_idx', part);
        COMMIT;
    END LOOP;
END
$$;

-- They find those of the partitions, and nothing is left to build.
CREATE INDEX IF NOT EXISTS audit_events_request_idx ON audit_events (request_id, created_at)
    WHERE request_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS audit_events_identity_idx ON audit_events (identity_id, created_at)
    WHERE identity_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS audit_events_network_idx ON audit_events (network, created_at) WHERE network IS NOT NULL;

CREATE INDEX IF NOT EXISTS audit_events_actor_name_idx ON audit_events (actor_name, created_at)
    WHERE actor_name IS NOT NULL;

-- Most rows are people's.
CREATE INDEX IF NOT EXISTS audit_events_actor_idx ON audit_events (actor, created_at) WHERE actor <> 'person';
