INSERT INTO accounts (account_id, email, email_verified, password_hash, display_name, status,
    disabled_reason, created_at)
VALUES ('01890000-0000-7000-8000-000000000001', 'kim@example.com', true, 'scrypt$x', 'Kim', 'active',
        NULL, '2026-01-01Z'),
    ('01890000-0000-7000-8000-000000000002', NULL, false, NULL, NULL, 'disabled', 'email_reclaimed',
        '2026-01-02Z');

-- digest
SELECT string_agg(concat_ws('|', account_id, email, email_verified, password_hash, display_name, status,
    disabled_reason, created_at AT TIME ZONE 'UTC'), E'\n' ORDER BY account_id)
FROM accounts
WHERE account_id <= '01890000-0000-7000-8000-000000000002';
