-- The accounts from :first to :last; :start is the time of the first account, in milliseconds since 1970.
WITH people AS MATERIALIZED (
    SELECT n, (lpad(to_hex(:start + n * 100), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id,
        to_timestamp((:start + n * 100) / 1000.0) AS created_at
    FROM generate_series(:first::bigint, :last::bigint) n
), account AS (
    INSERT INTO accounts (account_id, email, email_verified, display_name, status, disabled_reason, created_at)
    SELECT id, CASE WHEN n % 10 <> 9 THEN 'user' || n || '@example.com' END, n % 10 <> 9, 'Kim ' || n % 1000,
        CASE WHEN n % 100 = 0 THEN 'disabled' ELSE 'active' END,
        CASE WHEN n % 100 = 0 THEN 'administrator' END, created_at
    FROM people
), identity AS (
    INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, created_at)
    SELECT id, id, CASE WHEN n % 2 = 0 THEN 'apple' ELSE 'google' END, 'main', 'subject-' || n,
        'relay' || n || '@example.com', created_at
    FROM people
), session AS (
    INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, amr, created_at,
        last_used_at, expires_at)
    SELECT id, id, id, created_at, created_at, ARRAY['apple'], created_at, created_at,
        created_at + interval '60 days'
    FROM people
), event AS (
    INSERT INTO audit_events (event_id, type, actor, actor_name, account_id, identity_id, session_id, request_id,
        network, created_at)
    SELECT id, 'signed_in', 'person', NULL, id, id, id, 'request-' || n, '10.0.' || n % 256 || '.0/24', created_at
    FROM people
    UNION ALL
    SELECT overlay(id::text PLACING '1' FROM 18 FOR 1)::uuid, 'account_disabled', 'administrator',
        'kim ' || n % 1000, id, NULL, NULL, 'disabling-' || n, '10.1.0.0/24', created_at
    FROM people
    WHERE n % 100 = 0
), message AS (
    INSERT INTO outbox (message_id, kind, provider, realm, template, language, expires_at, status,
        next_attempt_at, finished_at, created_at)
    SELECT id, CASE WHEN n % 20 = 0 THEN 'revocation' ELSE 'mail' END, 'apple', 'main', 'x', 'en', created_at,
        status, created_at, CASE WHEN status <> 'pending' THEN created_at END, created_at
    FROM people
    CROSS JOIN LATERAL (
        SELECT CASE WHEN n % 1000 < 20 THEN 'failed' WHEN n % 1000 < 60 THEN 'pending' ELSE 'done' END AS status
    ) s
    WHERE n % 10 = 0
)
INSERT INTO provider_events (event_id, provider, jti, position, type, realm, occurred_at, received_at, status,
    processed_at)
SELECT id, 'apple', n::text, 0, 'x', 'main', created_at, created_at, 'unknown_type', created_at
FROM people
WHERE n % 10 = 0;
