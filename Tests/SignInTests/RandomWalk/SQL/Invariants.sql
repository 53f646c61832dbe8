-- The rows that break each invariant of WalkInvariant, one column each. The time is that of the table clock.

-- name: oneIdentityOfAProvider
SELECT account_id::text FROM identities
GROUP BY account_id, provider, realm HAVING count(*) > 1

-- name: sessionOfLinkedIdentity
-- Unlinking clears the reference: a session that a provider opened has then no identity, but still the time
-- of the provider's authentication.
SELECT s.session_id::text
FROM sessions s
LEFT JOIN identities i ON i.identity_id = s.identity_id
WHERE s.ended_at IS NULL AND s.expires_at > (SELECT now FROM clock) AND s.provider_auth_time IS NOT NULL
    AND i.account_id IS DISTINCT FROM s.account_id

-- name: sessionOfActiveAccount
SELECT s.session_id::text
FROM sessions s
JOIN accounts a ON a.account_id = s.account_id
WHERE s.ended_at IS NULL AND s.expires_at > (SELECT now FROM clock) AND a.status <> 'active'

-- name: linkOfActiveAccount
-- Chains, codes and tokens go with the grant: what the client holds is good for nothing.
SELECT g.grant_id::text
FROM oauth_grants g
JOIN accounts a ON a.account_id = g.account_id
WHERE a.status <> 'active'

-- name: wayIn
-- The active accounts that nobody can get into: by a password together with its address, by a proven address, to which
-- a code is mailed, or by an identity. An address that was never proven doesn't count: it may be another person's.
--
-- An identity whose provider has disabled the person's account there counts only as what the provider left them with:
-- it keeps them out, and may let them in again. Once it is blocked no password and no other identity may be taken
-- from the account, as long as that has its address.
SELECT a.account_id::text
FROM accounts a
WHERE a.status = 'active' AND NOT a.email_verified
    AND (a.password_hash IS NULL OR a.email IS NULL)
    AND NOT EXISTS (
        SELECT FROM identities i
        WHERE i.account_id = a.account_id
            AND (i.blocked_at IS NULL OR a.email_taken_at IS NOT NULL OR NOT EXISTS (
                SELECT FROM walk_blocks b
                JOIN walk_ways w ON w.removed_number > b.number
                WHERE b.id = i.identity_id AND w.account_id = a.account_id
                    AND w.kind IN ('identity', 'password'))))

-- name: passwordWithAddress
-- Where a reader of the mailbox has taken the address, the password waits for another one.
SELECT account_id::text
FROM accounts
WHERE password_hash IS NOT NULL AND email IS NULL AND email_taken_at IS NULL

-- name: grantOfItsHolder
SELECT g.grant_id::text
FROM provider_grants g
LEFT JOIN identities i ON i.identity_id = g.identity_id
LEFT JOIN link_tickets t ON t.ticket_hash = g.ticket_hash
LEFT JOIN outbox o ON o.message_id = g.revocation_id
WHERE num_nonnulls(g.identity_id, g.ticket_hash, g.revocation_id) <> 1
    OR (g.provider, g.realm, g.subject) IS DISTINCT FROM (
        COALESCE(i.provider, t.provider, o.provider), COALESCE(i.realm, t.realm, o.realm),
        COALESCE(i.subject, t.subject, o.subject))

-- name: grantInForce
SELECT g.grant_id::text
FROM provider_grants g
JOIN identities i ON i.identity_id = g.identity_id
WHERE i.authorization_status <> 'active'

-- name: revocationUnderWay
SELECT i.identity_id::text
FROM identities i
WHERE i.authorization_status = 'revoking' AND NOT EXISTS (
    SELECT FROM outbox o
    WHERE o.status <> 'done' AND o.provider = i.provider AND o.realm = i.realm AND o.subject = i.subject)

-- name: doneHoldsNothing
SELECT g.grant_id::text
FROM provider_grants g
JOIN outbox o ON o.message_id = g.revocation_id
WHERE o.status = 'done'

-- name: oneOwnerOfAnAddress
SELECT email FROM accounts WHERE email IS NOT NULL GROUP BY email HAVING count(*) > 1

-- name: sessionLineage
SELECT session_id::text FROM sessions WHERE parent_generation >= generation

-- name: provenAddress
-- The accounts with a proven address that nobody in the account has proven, nor an administrator for it.
SELECT a.account_id::text
FROM accounts a
WHERE a.email_verified AND a.email_proof = 'proven'
    AND NOT EXISTS (SELECT FROM walk_codes c WHERE c.account_id = a.account_id AND c.email = a.email)
    AND NOT EXISTS (SELECT FROM walk_vouchers v WHERE v.account_id = a.account_id AND v.email = a.email)
    AND NOT EXISTS (
        SELECT FROM walk_ways w
        JOIN walk_claims c ON c.subject = w.subject
        WHERE w.account_id = a.account_id AND c.email = a.email)

-- name: seenWays
-- The ways into an account that was not proven before somebody entered it by its mailbox, which had not been shown to
-- them, and were still there afterwards.
SELECT w.kind || ' ' || w.id
FROM walk_entries e
JOIN walk_ways w ON w.account_id = e.account_id
WHERE w.added_in <> e.entered_in AND w.added_number < e.number
    AND (w.removed_number IS NULL OR (w.removed_number > e.number AND w.removed_in <> e.entered_in))
    AND NOT (w.kind = 'identity' AND w.id = ANY (e.shown))
    AND 'proven' <> (
        SELECT d.proof
        FROM walk_degrees d
        WHERE d.account_id = e.account_id AND d.written_in <> e.entered_in AND d.number < e.number
        ORDER BY d.number DESC
        LIMIT 1)
