-- The rows that break each rule of WalkFeed, one column each, of the events. What changed is in the ledger.

-- name: events
WITH e AS (
    SELECT account_id, sequence, type, members::jsonb AS m FROM account_events
    UNION ALL
    SELECT account_id, sequence, type, members::jsonb FROM unstamped_events
)

-- name: numbers
SELECT account_id::text FROM e GROUP BY account_id
HAVING min(sequence) <> 1 OR max(sequence) <> count(*) OR count(*) <> count(DISTINCT sequence)

-- name: existence
SELECT COALESCE(a.account_id, f.account_id)::text
FROM accounts a
FULL JOIN (
    SELECT account_id FROM e WHERE type = 'account.created'
    EXCEPT SELECT account_id FROM e WHERE type IN ('account.deleted', 'account.merged')
) f ON f.account_id = a.account_id
WHERE a.account_id IS NULL OR f.account_id IS NULL

-- name: status
SELECT a.account_id::text
FROM accounts a
LEFT JOIN LATERAL (
    SELECT type FROM e WHERE e.account_id = a.account_id AND type IN ('account.disabled', 'account.enabled')
    ORDER BY sequence DESC LIMIT 1
) s ON true
WHERE (a.status = 'disabled') <> (s.type IS NOT DISTINCT FROM 'account.disabled')

-- name: address
SELECT a.account_id::text
FROM accounts a
CROSS JOIN LATERAL (
    SELECT m ->> 'emailProof' AS proof FROM e
    WHERE e.account_id = a.account_id AND type = 'account.email_changed'
    ORDER BY sequence DESC LIMIT 1
) s
WHERE s.proof IS DISTINCT FROM CASE WHEN a.email IS NOT NULL THEN a.email_proof END

-- name: changes
-- Those of accounts that are gone went with them.
SELECT account_id::text
FROM (
    SELECT account_id, type, 1 AS number FROM walk_changes
    UNION ALL
    SELECT account_id, type, -1 FROM e WHERE type IN ('account.email_changed', 'account.password_changed')
) c
WHERE EXISTS (SELECT FROM accounts a WHERE a.account_id = c.account_id)
GROUP BY account_id, type
HAVING sum(number) <> 0

-- name: identities
SELECT COALESCE(i.identity_id::text, f.id)
FROM identities i
FULL JOIN (
    SELECT DISTINCT ON (account_id, m ->> 'identityId') account_id, m ->> 'identityId' AS id, type
    FROM e
    WHERE type IN ('identity.linked', 'identity.unlinked')
        AND EXISTS (SELECT FROM accounts a WHERE a.account_id = e.account_id)
    ORDER BY account_id, m ->> 'identityId', sequence DESC
) f ON f.id = i.identity_id::text AND f.account_id = i.account_id
WHERE (i.identity_id IS NOT NULL) <> (f.type IS NOT DISTINCT FROM 'identity.linked')

-- name: clients
SELECT COALESCE(g.client_id, f.id)
FROM oauth_grants g
FULL JOIN (
    SELECT DISTINCT ON (account_id, m ->> 'clientId') account_id, m ->> 'clientId' AS id, type
    FROM e
    WHERE type IN ('client.linked', 'client.unlinked')
        AND EXISTS (SELECT FROM accounts a WHERE a.account_id = e.account_id)
    ORDER BY account_id, m ->> 'clientId', sequence DESC
) f ON f.id = g.client_id AND f.account_id = g.account_id
WHERE (g.grant_id IS NOT NULL) <> (f.type IS NOT DISTINCT FROM 'client.linked')

-- name: sessions
SELECT s.session_id::text
FROM sessions s
WHERE s.ended_at IS NOT NULL AND NOT EXISTS (
    SELECT FROM e
    WHERE e.account_id = s.account_id AND type = 'session.revoked'
        AND (m -> 'sessionIds' ? s.session_id::text OR (m ->> 'count')::int > 100))

-- name: lastWord
SELECT l.account_id::text
FROM e l
JOIN e n ON n.account_id = l.account_id AND n.sequence > l.sequence
WHERE l.type = 'account.merged' OR l.type = 'account.deleted' AND n.type <> 'authorization.revoked'
