INSERT INTO outbox (message_id, kind, status, template, recipient, language, provider, code_id, expires_at,
    attempts, failures, next_attempt_at, claimed_until, last_error, created_at, finished_at)
VALUES ('01890000-0000-7000-8000-00000000000f', 'mail', 'pending', 'sign_in_code', 'kim@example.com', 'en',
        NULL, '01890000-0000-7000-8000-000000000010', '2026-01-01T00:10Z', 1, 1, '2026-01-01Z',
        '2026-01-01T00:01Z', 'timed_out', '2026-01-01Z', NULL),
    ('01890000-0000-7000-8000-000000000011', 'mail', 'failed', 'identity_linked', NULL, 'de', 'google',
        NULL, '2026-01-02Z', 1, 0, '2026-01-01Z', NULL, 'smtp_550', '2026-01-01Z', '2026-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', message_id, status, template, recipient, language, provider, code_id,
    expires_at AT TIME ZONE 'UTC', attempts, failures, last_error), E'\n' ORDER BY message_id)
FROM outbox
WHERE kind = 'mail';
