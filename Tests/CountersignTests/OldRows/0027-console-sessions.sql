INSERT INTO console_sessions (session_hash, key_id, created_at, last_used_at)
VALUES (decode(repeat('27', 32), 'hex'), '01890000-0000-7000-8000-000000000018', '2026-01-01Z',
    '2026-01-02Z');

-- digest
SELECT string_agg(concat_ws('|', session_hash, key_id, last_used_at AT TIME ZONE 'UTC'), E'\n')
FROM console_sessions
WHERE key_id IS NOT NULL;
