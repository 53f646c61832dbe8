-- The work of one sign-in in the database, as one statement for pgbench: looks the identity up, updates it when that is
-- due, opens a session, reads the account. Sources/Storage/Accounts/IdentityStore.swift does the same for many at once.
-- Sessions get ids that grow, as UUIDv7 do; decimal digits are hexadecimal ones too.
\set subject random(1000000001, 1000010000)
\set count :count + 1
\set session 100000000000 + 1000000000 * :client_id + :count
WITH stated (email, email_verified, is_private_email) AS (
    VALUES ('person' || :subject || '@example.com', true, false)
), found AS (
    SELECT a.account_id, a.email, a.email_verified, a.display_name, a.created_at, a.password_hash,
        CASE WHEN (now() < date_trunc('second', i.not_before)
                OR now() < date_trunc('second', i.auth_not_before)) THEN 'outdated'
            WHEN i.blocked_at IS NOT NULL THEN 'blocked' ELSE a.status END AS status,
        i.identity_id,
        i.last_sign_in_at IS NULL OR i.last_sign_in_at <= now() - interval '1 hour'
            OR (i.email, i.email_verified, i.is_private_email) IS DISTINCT FROM
                (s.email, s.email_verified, s.is_private_email) AS is_due
    FROM stated s
    CROSS JOIN identities i
    JOIN accounts a ON a.account_id = i.account_id
    WHERE i.provider = 'google' AND i.realm = 'main' AND i.subject = :subject
    FOR KEY SHARE OF a, i
), touched AS (
    UPDATE identities i
    SET last_sign_in_at = now(), email = s.email, email_verified = s.email_verified,
        is_private_email = s.is_private_email
    FROM found f, stated s
    WHERE f.is_due AND f.status = 'active' AND i.identity_id = f.identity_id
    RETURNING i.identity_id, i.email, i.email_verified, i.is_private_email, i.last_sign_in_at
), opened AS (
    INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, provider_auth_time, amr,
        device_name, device_platform, ip, created_at, last_used_at, expires_at)
    SELECT ('01890000-0000-7000-8000-' || :session)::uuid, f.account_id, f.identity_id, now(), now(), now(),
        ARRAY['google'], 'Pixel 9', 'android', '127.0.0.1', now(), now(), now() + interval '60 days'
    FROM found f
    WHERE f.status = 'active'
)
SELECT a.account_id, a.email, a.email_verified, a.display_name, a.status, a.created_at, a.password_hash IS NOT NULL,
    i.identity_id, i.provider, i.realm, i.subject, CASE WHEN t.identity_id IS NULL THEN i.email ELSE t.email END,
    COALESCE(t.email_verified, i.email_verified), COALESCE(t.is_private_email, i.is_private_email), i.created_at,
    COALESCE(t.last_sign_in_at, i.last_sign_in_at), i.authorization_status,
    i.email_deliverable, i.blocked_at
FROM found a
JOIN identities i ON i.account_id = a.account_id
LEFT JOIN touched t ON t.identity_id = i.identity_id
ORDER BY i.created_at, i.identity_id;
