WITH seal AS (
    INSERT INTO audit_seals (seal_number, chain, transaction_id, event_id, row_count, total_count, key_id,
        mac, created_at)
    VALUES (1, 1, 12, '01890000-0000-7000-8000-000000000012', 1, 1, 'k0',
            decode(repeat('0b', 32), 'hex'), '2026-11-01Z'),
        (2, 1, 13, '01890000-0000-7000-8000-000000000013', 1, 2, 'k1',
            decode(repeat('0c', 32), 'hex'), '2026-12-01Z')
)
INSERT INTO audit_head (seal_number, total_count, key_id, mac, created_at)
VALUES (2, 2, 'k1', decode(repeat('0d', 32), 'hex'), '2026-12-01Z');

-- digest
SELECT concat_ws('|', s.chain, s.transaction_id, s.event_id, s.row_count, s.mac, h.seal_number, h.mac)
FROM audit_seals s
CROSS JOIN audit_head h
ORDER BY s.seal_number DESC;
