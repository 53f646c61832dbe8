-- The statement of GET /v1/account for pgbench: the session with its account and the account's identities.
-- Sources/Storage/Sessions/SessionStore.swift has it as `liveAccount`.
\set n random(1, :sessions)
SELECT s.session_id, s.identity_id, s.auth_time, s.amr, s.created_at, s.expires_at, s.generation, a.account_id, a.email,
    a.email_verified, a.display_name, a.status, a.created_at, a.password_hash IS NOT NULL, i.identity_id, i.provider,
    i.realm, i.subject, i.email, i.email_verified, i.is_private_email, i.created_at, i.last_sign_in_at,
    i.authorization_status, i.email_deliverable, i.blocked_at
FROM bench_sessions b
JOIN sessions s ON s.session_id = b.session_id
JOIN accounts a ON a.account_id = s.account_id
LEFT JOIN identities i ON i.account_id = a.account_id
WHERE b.n = :n AND s.ended_at IS NULL AND s.expires_at > now()
ORDER BY i.created_at, i.identity_id;
