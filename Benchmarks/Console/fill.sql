-- ACCOUNTS accounts with an identity and a session each, and the record of a sign-in of every tenth. Of account n the address is
-- usern@example.com, the name one of a thousand, the subject subject-n.
INSERT INTO accounts (account_id, email, email_verified, display_name, status, disabled_reason, created_at)
SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'user' || n || '@example.com', true,
    'Kim ' || n % 1000, CASE WHEN n % 100 = 0 THEN 'disabled' ELSE 'active' END,
    CASE WHEN n % 100 = 0 THEN 'administrator' END, now() - interval '1 day' + n * interval '1 ms'
FROM generate_series(1, :accounts) AS n;
INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
SELECT account_id, account_id, 'google', 'main', 'subject-' || split_part(split_part(email, '@', 1), 'user', 2), created_at
FROM accounts;
INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, amr, created_at, last_used_at, expires_at)
SELECT account_id, account_id, account_id, created_at, created_at, ARRAY['google'], created_at, created_at,
    created_at + interval '60 days'
FROM accounts;
INSERT INTO audit_events (event_id, type, actor, account_id, session_id, created_at)
SELECT account_id, 'signed_in', 'person', account_id, account_id, created_at
FROM accounts
WHERE email LIKE '%0@%';
VACUUM ANALYZE;
