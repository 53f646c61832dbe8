-- GRANTS links of one client, each with a chain, a refresh token and an access token whose texts follow from their number.
INSERT INTO oauth_clients (client_id, name, redirect_uris, assertion_audiences, require_pkce, rotate_refresh,
    streamlined_create, introspect, status, secret_hash, created_at)
VALUES ('csc_bench', 'Bench', ARRAY['https://client.example/linked'], ARRAY[]::text[], false, false, true, false,
    'active', sha256(convert_to(:'secret', 'UTF8')), now());
CREATE TEMPORARY TABLE link AS
SELECT n, gen_random_uuid() AS account_id, gen_random_uuid() AS grant_id, gen_random_uuid() AS chain_id
FROM generate_series(1, :grants) AS n;
INSERT INTO accounts (account_id, created_at) SELECT account_id, now() FROM link;
INSERT INTO oauth_grants (grant_id, account_id, client_id, scopes, linked_at)
SELECT grant_id, account_id, 'csc_bench', ARRAY['profile'], now() FROM link;
INSERT INTO oauth_chains (chain_id, grant_id, origin, scopes, created_at)
SELECT chain_id, grant_id, 'web', ARRAY['profile'], now() FROM link;
INSERT INTO oauth_refresh_tokens (token_hash, chain_id, fingerprint, created_at)
SELECT sha256(convert_to('rt_' || lpad(n::text, 43, '0'), 'UTF8')), chain_id,
    sha512(sha512(convert_to('rt_' || lpad(n::text, 43, '0'), 'UTF8'))), now()
FROM link;
INSERT INTO oauth_access_tokens (token_hash, chain_id, scopes, created_at, expires_at)
SELECT sha256(convert_to('at_' || lpad(n::text, 43, '0'), 'UTF8')), chain_id, ARRAY['profile'], now(),
    now() + interval '1 day'
FROM link;
