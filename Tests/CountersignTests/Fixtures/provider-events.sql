INSERT INTO provider_events (event_id, provider, jti, position, type, kind, realm, subject, detail,
    occurred_at, received_at, status, processed_at)
VALUES
    ('01a1fc41-9b43-7cef-ac4a-000000000001'::uuid, 'apple', 'a-1', 0, 'consent-revoked', 'consent-revoked', 'main',
        '001.kim', NULL, '2026-01-01T12:00:00Z', '2026-01-01T12:00:01Z', 'done',
        '2026-01-01T12:00:02Z'),
    ('01a1fc41-9b43-7cef-ac4a-000000000002'::uuid, 'google', 'g "1"', 0, 'risc/account-disabled', 'account-disabled',
        'main', '1098', 'hijacking', '2026-01-01T11:00:00Z', '2026-01-01T12:00:03Z', 'pending',
        NULL),
    ('01a1fc41-9b43-7cef-ac4a-000000000003'::uuid, 'google', 'g-2', 0, 'verification', NULL, 'main', NULL, 's',
        '2026-01-01T12:00:04Z', '2026-01-01T12:00:04Z', 'unknown_type', '2026-01-01T12:00:05Z')
