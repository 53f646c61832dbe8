-- ACCOUNTS accounts with an identity and a session each, and the record of a sign-in; of every hundredth also
-- that an administrator has signed it out. Of account n the address
-- is usern@example.com, the name one of a thousand, the subject subject-n, the id in a system before legacy-n.
--
-- What is inserted is sound: no trigger has to look at it. The rows of the trail are of a chain before that of the seals:
-- sealing them takes long, and a service that has been there for long has done so.
SET session_replication_role = replica;
INSERT INTO accounts (account_id, email, email_verified, display_name, external_id, status, disabled_reason, created_at)
SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'user' || n || '@example.com', true,
    'Kim ' || n % 1000, 'legacy-' || n, CASE WHEN n % 100 = 0 THEN 'disabled' ELSE 'active' END,
    CASE WHEN n % 100 = 0 THEN 'administrator' END, now() - interval '1 day' + n * interval '1 ms'
FROM generate_series(1, :accounts) AS n;
INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, created_at)
SELECT account_id, account_id, 'google', 'main', 'subject-' || split_part(split_part(email, '@', 1), 'user', 2), 'at-' || email,
    created_at
FROM accounts;
INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, amr, created_at, last_used_at, expires_at)
SELECT account_id, account_id, account_id, created_at, created_at, ARRAY['google'], created_at, created_at,
    created_at + interval '60 days'
FROM accounts;
INSERT INTO audit_events (event_id, type, actor, actor_name, account_id, identity_id, session_id, reason, request_id,
    network, chain, created_at)
SELECT (left(time, 8) || '-' || right(time, 4) || '-700' || kind || '-8000-' || tail)::uuid,
    CASE kind WHEN 0 THEN 'signed_in' ELSE 'sessions_ended' END, CASE kind WHEN 0 THEN 'person' ELSE 'administrator' END,
    CASE kind WHEN 1 THEN 'kim' || n % 50 END, account_id, CASE kind WHEN 0 THEN account_id END,
    CASE kind WHEN 0 THEN account_id END, CASE kind WHEN 1 THEN 'case ' || n END, 'request-' || kind || '-' || n,
    '10.' || n / 256 % 256 || '.' || n % 256 || '.0/24', 0, created_at
FROM (
    SELECT account_id, n, kind, date_trunc('milliseconds', at) AS created_at,
        lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') AS time, lpad(to_hex(n), 12, '0') AS tail
    FROM (
        SELECT account_id, split_part(split_part(email, '@', 1), 'user', 2)::bigint AS n,
            now() - interval '20 days' + split_part(split_part(email, '@', 1), 'user', 2)::bigint
                * (interval '19 days' / :accounts) AS at
        FROM accounts
    ) a
    CROSS JOIN generate_series(0, 1) AS kind
    WHERE kind = 0 OR n % 100 = 0
) rows;
VACUUM ANALYZE;
