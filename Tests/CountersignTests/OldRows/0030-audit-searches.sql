-- A row for each index of the searches, in a month, the next one and the default partition.
INSERT INTO audit_events (event_id, type, actor, actor_name, account_id, identity_id, request_id, network,
    created_at)
VALUES ('01890000-0000-7000-8000-000000000030', 'signed_in', 'person', NULL,
        '01890000-0000-7000-8000-000000000001', '01890000-0000-7000-8000-000000000003', 'r30',
        '192.0.2.0/24', '2026-11-30T23:59:59.999999Z'),
    ('01890000-0000-7000-8000-000000000031', 'account_disabled', 'administrator', 'kim', NULL, NULL, 'r30',
        NULL, '2026-12-01Z'),
    ('01890000-0000-7000-8000-000000000032', 'credential_rejected', 'person', NULL, NULL, NULL, NULL,
        '192.0.2.0/24', '2031-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', tableoid::regclass, event_id, actor, actor_name, identity_id, request_id,
    network), E'\n' ORDER BY event_id)
FROM audit_events
WHERE request_id = 'r30' OR network = '192.0.2.0/24';
