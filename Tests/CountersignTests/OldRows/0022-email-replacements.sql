INSERT INTO email_replacements (account_id, email, requested_by, request_id, language, due_at, created_at)
VALUES ('01890000-0000-7000-8000-000000000001', 'kim@third.example', 'kim', 'r1', 'en', '2026-01-02Z',
    '2026-01-01Z');

-- digest
SELECT concat_ws('|', account_id, email, requested_by, request_id, language, due_at AT TIME ZONE 'UTC',
    created_at AT TIME ZONE 'UTC') FROM email_replacements;
