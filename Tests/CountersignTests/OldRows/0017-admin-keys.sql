WITH event AS (
    UPDATE audit_events
    SET actor_name = 'kim'
    WHERE event_id = '01890000-0000-7000-8000-00000000000c'
)
INSERT INTO admin_keys (key_id, name, key_hash, scopes, created_at, last_used_at, revoked_at)
VALUES ('01890000-0000-7000-8000-000000000018', 'kim', decode(repeat('0e', 32), 'hex'), '{read,manage}',
    '2026-12-01Z', '2026-12-02Z', '2026-12-03Z');

-- digest
SELECT concat_ws('|', k.name, k.key_hash, k.scopes, k.last_used_at AT TIME ZONE 'UTC',
    k.revoked_at AT TIME ZONE 'UTC', e.actor_name)
FROM admin_keys k, audit_events e
WHERE e.event_id = '01890000-0000-7000-8000-00000000000c';
