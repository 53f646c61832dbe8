INSERT INTO audit_events (event_id, type, actor, account_id, reason, created_at)
VALUES ('01890000-0000-7000-8000-00000000000c', 'identity_unlinked', 'person',
        '01890000-0000-7000-8000-000000000001', NULL, '2026-11-30T23:59:59.999999Z'),
    ('01890000-0000-7000-8000-00000000000d', 'revocation_requested', 'operator', NULL, 'stolen phone',
        '2026-12-01Z'),
    ('01890000-0000-7000-8000-00000000000e', 'code_rejected', 'provider', NULL, NULL, '2031-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', tableoid::regclass, event_id, type, actor, account_id, reason), E'\n'
    ORDER BY event_id)
FROM audit_events
WHERE event_id <= '01890000-0000-7000-8000-00000000000e';
