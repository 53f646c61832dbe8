-- The work of one refresh in the database, as one statement for pgbench: looks the token up, notes the use of the grant
-- when that is due, inserts an access token. Sources/Storage/OAuth/OAuthRefreshes.swift does the same for many.
\set subject random(1, 2000)
\set count :count + 1
\set token 100000000000 + 1000000000 * :client_id + :count
WITH found AS (
    SELECT h.chain_id, h.scopes, g.grant_id, g.last_used_at
    FROM oauth_refresh_tokens r
    JOIN oauth_chains h ON h.chain_id = r.chain_id
    JOIN oauth_grants g ON g.grant_id = h.grant_id
    JOIN accounts a ON a.account_id = g.account_id
    WHERE r.token_hash = sha256(convert_to('rt_' || lpad(:subject::text, 43, '0'), 'UTF8'))
        AND r.superseded_at IS NULL AND g.client_id = 'csc_bench' AND a.status = 'active'
), issued AS (
    INSERT INTO oauth_access_tokens (token_hash, chain_id, scopes, created_at, expires_at)
    SELECT sha256(convert_to('bench' || :token, 'UTF8')), f.chain_id, f.scopes, now(), now() + interval '1 hour'
    FROM found f
), noted AS (
    UPDATE oauth_grants g
    SET last_used_at = now()
    FROM found f
    WHERE g.grant_id = f.grant_id AND (f.last_used_at IS NULL OR f.last_used_at <= now() - interval '1 minute')
)
SELECT f.scopes
FROM found f;
