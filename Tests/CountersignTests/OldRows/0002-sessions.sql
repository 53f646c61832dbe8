INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, amr, device_name, ip,
    created_at, last_used_at, expires_at, ended_at, end_reason)
VALUES ('01890000-0000-7000-8000-000000000005', '01890000-0000-7000-8000-000000000001',
        '01890000-0000-7000-8000-000000000003', '2026-01-01Z', '2026-01-01Z', '{apple}', 'phone',
        '192.0.2.1', '2026-01-01Z', '2026-01-01Z', '2026-03-01Z', NULL, NULL),
    ('01890000-0000-7000-8000-000000000006', '01890000-0000-7000-8000-000000000001', NULL, '2026-01-01Z',
        '2026-01-01Z', '{pwd}', NULL, NULL, '2026-01-01Z', '2026-01-01Z', '2026-03-01Z', '2026-01-02Z',
        'signed_out');

-- digest
SELECT string_agg(concat_ws('|', session_id, account_id, identity_id, generation, parent_generation, amr,
    device_name, ip, ended_at AT TIME ZONE 'UTC', end_reason), E'\n' ORDER BY session_id)
FROM sessions;
