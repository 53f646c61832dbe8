INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
    is_private_email, authorization_status, last_sign_in_at, created_at)
VALUES ('01890000-0000-7000-8000-000000000003', '01890000-0000-7000-8000-000000000001', 'apple', 'main',
        '001.a', 'x@privaterelay.appleid.com', true, true, 'none', '2026-01-03Z', '2026-01-01Z'),
    ('01890000-0000-7000-8000-000000000004', '01890000-0000-7000-8000-000000000001', 'google', 'main',
        '42', NULL, false, false, 'none', NULL, '2026-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', identity_id, account_id, provider, realm, subject, email, email_verified,
    is_private_email, authorization_status, last_sign_in_at AT TIME ZONE 'UTC',
    created_at AT TIME ZONE 'UTC'), E'\n' ORDER BY identity_id)
FROM identities
WHERE identity_id <= '01890000-0000-7000-8000-000000000004';
