WITH staff AS (
    INSERT INTO console_staff (name, subject, created_at) VALUES ('ann', '110', '2026-01-01Z')
), flow AS (
    INSERT INTO console_flows (flow_hash, destination, created_at)
    VALUES (decode(repeat('31', 32), 'hex'), '/console/audit', '2026-01-01Z')
)
INSERT INTO console_sessions (session_hash, staff_name, created_at, last_used_at)
VALUES (decode(repeat('32', 32), 'hex'), 'ann', '2026-01-01Z', '2026-01-02Z');

-- digest
SELECT concat_ws('|', p.name, p.subject, s.session_hash, s.last_used_at AT TIME ZONE 'UTC', f.flow_hash,
    f.destination)
FROM console_staff p
JOIN console_sessions s ON s.staff_name = p.name
CROSS JOIN console_flows f;
