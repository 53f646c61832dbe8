INSERT INTO outbox (message_id, kind, status, provider, realm, subject, identity_id, attempts,
    next_attempt_at, last_error, created_at, finished_at)
VALUES ('01890000-0000-7000-8000-000000000007', 'revocation', 'pending', 'apple', 'main', '001.c',
        '01890000-0000-7000-8000-000000000008', 3, '2026-01-01Z', 'http_500', '2026-01-01Z', NULL),
    ('01890000-0000-7000-8000-000000000009', 'revocation', 'done', 'google', 'main', NULL, NULL, 1,
        '2026-01-01Z', NULL, '2026-01-01Z', '2026-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', message_id, status, provider, subject, identity_id, attempts, last_error),
    E'\n' ORDER BY message_id)
FROM outbox
WHERE kind = 'revocation';
