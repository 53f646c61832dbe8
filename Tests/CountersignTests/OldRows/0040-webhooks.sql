-- An endpoint with an account that is parked, and an event that was given up.
WITH endpoint AS (
    INSERT INTO webhook_endpoints (name, status, reason, failing_since, last_error, seen_at, created_at)
    VALUES ('crm', 'stopped', 'gone', '2026-01-01Z', 'status_410', '2026-01-01Z', '2026-01-01Z')
), stream AS (
    INSERT INTO webhook_streams (stream_id, endpoint, position, created_at)
    VALUES ('01890000-0000-7000-8000-00000000003a', 'crm', 7, '2026-01-01Z')
), parked AS (
    INSERT INTO webhook_parked (stream_id, account_id, position, attempts, next_attempt_at, last_error)
    VALUES ('01890000-0000-7000-8000-00000000003a', '01890000-0000-7000-8000-000000000037', 6, 2,
        '2026-01-02Z', 'status_410')
)
INSERT INTO webhook_failures (endpoint, event_id, position, type, account_id, sequence, members, happened_at,
    attempts, last_error, given_up_at)
VALUES ('crm', '01890000-0000-7000-8000-00000000003b', 5, 'account.enabled',
    '01890000-0000-7000-8000-000000000037', 1, '{}', '2026-01-01Z', 10, 'status_500', '2026-01-04Z');

-- digest
SELECT concat_ws('|', w.status, w.reason, s.position, p.position, p.attempts, p.last_error, f.event_id,
    f.attempts, f.last_error)
FROM webhook_endpoints w
JOIN webhook_streams s ON s.endpoint = w.name
JOIN webhook_parked p ON p.stream_id = s.stream_id
JOIN webhook_failures f ON f.endpoint = w.name;
