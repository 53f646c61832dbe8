INSERT INTO signing_keys (key_id, sealed_private_key, created_at) VALUES ('signing', '\x:sealed_key', now());

WITH ticket AS (
    INSERT INTO link_tickets (ticket_hash, provider, realm, subject, client_id, email_verified,
        is_private_email, email_authoritative, auth_time, created_at, expires_at)
    VALUES (sha256(''), 'google', 'main', '1', 'web', false, false, false, now(), now(), now() + '10 minutes')
)
INSERT INTO provider_grants (grant_id, ticket_hash, provider, realm, subject, client_id,
    sealed_refresh_token, prefix_fingerprint, digest_fingerprint, created_at)
VALUES (':grant', sha256(''), 'google', 'main', '1', 'web', '\x:sealed_token', '', '', now());

INSERT INTO audit_seals (seal_number, chain, transaction_id, event_id, row_count, total_count, key_id, mac,
    created_at)
VALUES (1, 1, 1, gen_random_uuid(), 1, 1, 'ancient', sha256(''), now());
