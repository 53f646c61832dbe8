-- Everybody as neutral rows (docs/import.md), a JSON object a line, as of one moment and in the order in which they came:
--
--   psql -XqAt -v FETCH_COUNT=1000 -f deploy/export/accounts.sql "$OWNER" >people.ndjson
--
-- It reads what the owner of the tables may, and holds password hashes: keep the file as you keep the database.
SELECT json_strip_nulls(json_build_object(
    'externalId', a.account_id,
    'email', a.email,
    'emailVerified', a.email_verified AND a.email_proof IN ('stated', 'proven'),
    'displayName', a.display_name,
    'createdAt', to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'disabled', a.status = 'disabled',
    'identities', COALESCE(i.items, '[]'::json),
    -- What was imported as a PHC string of scrypt is kept without its first character.
    'passwordHash', CASE WHEN a.password_hash LIKE 'scrypt$ln=%' THEN '$' ELSE '' END || a.password_hash))
FROM accounts a
LEFT JOIN LATERAL (
    SELECT json_agg(
        json_build_object(
            'provider', provider, 'realm', realm, 'subject', subject, 'email', email, 'emailVerified', email_verified,
            'isPrivateEmail', is_private_email,
            'linkedAt', to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
        ORDER BY created_at, identity_id) AS items
    FROM identities
    -- One that its provider has disabled stays behind: the provider reports that once.
    WHERE account_id = a.account_id AND blocked_at IS NULL
) i ON true
ORDER BY a.account_id;
