INSERT INTO accounts (account_id, external_id, created_at)
VALUES ('01890000-0000-7000-8000-000000000036', repeat('x', 255), '2026-01-01Z');

-- digest
SELECT account_id || external_id FROM accounts WHERE octet_length(external_id) = 255;
