-- Before `countersign migrate up` from 0.1.0, by psql as the owner of the schema: builds the indexes of migration 0030 on this
-- month of the audit trail without making its writers wait. The migration finds them there, by these names.
--
-- An index that psql was cut off at is INVALID and in the way: drop it, and begin again.
SELECT format(
        'CREATE INDEX CONCURRENTLY IF NOT EXISTS %I ON %I (%s, created_at) WHERE %s',
        month || '_' || column_name || '_created_at_idx', month, column_name, condition)
FROM (SELECT 'audit_events_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM') AS month) m,
    (VALUES
        ('request_id', 'request_id IS NOT NULL'),
        ('identity_id', 'identity_id IS NOT NULL'),
        ('network', 'network IS NOT NULL'),
        ('actor_name', 'actor_name IS NOT NULL'),
        ('actor', 'actor <> ''person''')
    ) AS i (column_name, condition)
\gexec
