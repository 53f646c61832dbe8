WITH account AS (
    INSERT INTO accounts (account_id, created_at)
    VALUES ('01890000-0000-7000-8000-000000000033', '2026-01-01Z')
)
INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
    is_private_email, created_at)
VALUES ('01890000-0000-7000-8000-000000000034', '01890000-0000-7000-8000-000000000033', 'apple', 'main',
        '001.r', 'relayed@privaterelay.appleid.com', true, true, '2026-01-01Z'),
    ('01890000-0000-7000-8000-000000000035', '01890000-0000-7000-8000-000000000033', 'google', 'main',
        '44', NULL, false, false, '2026-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', identity_id, subject, email), E'\n' ORDER BY identity_id)
FROM identities
WHERE account_id = '01890000-0000-7000-8000-000000000033';
