WITH import AS (
    INSERT INTO imports (import_id, name, source, sealed_key, outcomes, outcome_counts, created_at,
        last_run_at)
    VALUES ('01890000-0000-7000-8000-000000000033', 'old', 'ndjson', '\x01', '{created}', '{1}',
        '2026-01-01Z', '2026-01-01Z')
), marked AS (
    INSERT INTO imported_rows (import_id, external_id_digest, account_id, created_at)
    VALUES ('01890000-0000-7000-8000-000000000033', decode(repeat('0f', 32), 'hex'),
        '01890000-0000-7000-8000-000000000001', '2026-01-01Z')
)
UPDATE accounts SET external_id = 'u1' WHERE email = 'kim@example.com';

-- digest
SELECT concat_ws('|', i.name, i.outcomes, i.outcome_counts, r.external_id_digest, r.is_touched, a.external_id)
FROM imports i
JOIN imported_rows r ON r.import_id = i.import_id
JOIN accounts a ON a.account_id = r.account_id;
