-- A person of whom every table has a row, and every column a value. Each text but the fixed ones begins with the
-- person's name; what may not leave the database begins with that and "-secret-".
CREATE OR REPLACE FUNCTION record_person(person_id uuid, person text, moment timestamptz, later timestamptz)
RETURNS void LANGUAGE sql AS $$
WITH account AS (
    INSERT INTO accounts (account_id, email, email_verified, email_proof, email_proof_source, email_taken_at,
        display_name, status, disabled_reason, password_hash, pending_email, pending_email_expires_at,
        tokens_not_before, external_id, created_at)
    VALUES (person_id, person || '@example.com', true, 'proven', 'mailed_code', moment, person || '-name', 'disabled',
        'administrator', person || '-secret-1', person || '-pending@example.com', later, moment,
        person || '-external', moment)
    RETURNING account_id
), identity AS (
    INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
        is_private_email, authorization_status, last_sign_in_at, created_at, email_deliverable, blocked_at,
        block_reason, credential_change_required_at, not_before, auth_not_before, proven_at)
    SELECT gen_random_uuid(), account_id, 'google', 'main', person || '-subject', person || '@mail.example',
        true, false, 'active', moment, moment, true, moment, person || '-block', moment, moment, moment, moment
    FROM account
    RETURNING identity_id, provider, realm, subject
), session AS (
    INSERT INTO sessions (session_id, account_id, identity_id, generation, rotated_at, auth_time, amr, device_name,
        device_platform, ip, created_at, last_used_at, expires_at, ended_at, end_reason, provider_auth_time,
        last_used_ip, rotation_network)
    SELECT gen_random_uuid(), account_id, identity_id, 987654321, moment, moment, '{google}', person || '-device',
        person || '-platform', person || '-ip', moment, moment, later, moment, 'signed_out', moment,
        person || '-last-ip', person || '-network'
    FROM account, identity
    RETURNING session_id
), browser AS (
    INSERT INTO web_sessions (session_hash, session_id, created_at)
    SELECT sha256(convert_to(person || '-secret-2', 'UTF8')), session_id, moment FROM session
), client AS (
    INSERT INTO oauth_clients (client_id, name, redirect_uris, scopes, assertion_audiences, require_pkce,
        rotate_refresh, streamlined_create, introspect, status, secret_hash, created_at)
    SELECT person || '-client', person || '-client-name', '{}', '{}', '{}', false, false, false, false, 'active',
        sha256(convert_to(person || '-secret-3', 'UTF8')), moment
    RETURNING client_id
), oauth_grant AS (
    INSERT INTO oauth_grants (grant_id, account_id, client_id, scopes, linked_at, last_used_at)
    SELECT gen_random_uuid(), account_id, client_id, '{openid}', moment, moment FROM account, client
    RETURNING grant_id
), chain AS (
    INSERT INTO oauth_chains (chain_id, grant_id, origin, scopes, created_at)
    SELECT gen_random_uuid(), grant_id, 'web', '{openid}', moment FROM oauth_grant
    RETURNING chain_id
), access AS (
    INSERT INTO oauth_access_tokens (token_hash, chain_id, scopes, created_at, expires_at)
    SELECT sha256(convert_to(person || '-secret-4', 'UTF8')), chain_id, '{openid}', moment, later FROM chain
), refresh AS (
    INSERT INTO oauth_refresh_tokens (token_hash, chain_id, fingerprint, created_at)
    SELECT sha256(convert_to(person || '-secret-12', 'UTF8')), chain_id,
        sha512(convert_to(person || '-secret-12', 'UTF8')), moment
    FROM chain
), revocation AS (
    INSERT INTO outbox (message_id, kind, status, provider, realm, subject, identity_id, attempts, next_attempt_at,
        last_error, created_at, finished_at)
    SELECT gen_random_uuid(), 'revocation', 'failed', provider, realm, subject, identity_id, 7, moment,
        person || '-error', moment, moment
    FROM identity
    RETURNING message_id
), provider_grant AS (
    INSERT INTO provider_grants (grant_id, identity_id, revocation_id, provider, realm, subject, client_id,
        sealed_refresh_token, prefix_fingerprint, digest_fingerprint, check_at, doubted_at, created_at)
    SELECT gen_random_uuid(), CASE number WHEN 1 THEN identity_id END, CASE number WHEN 2 THEN message_id END,
        provider, realm, subject, person || '-provider-client', sha256(convert_to(person || '-secret-5', 'UTF8')),
        sha256(convert_to(person || '-secret-6', 'UTF8')), sha256(convert_to(person || '-secret-7', 'UTF8')),
        moment, moment, moment
    FROM identity, revocation, generate_series(1, 2) number
), transfer AS (
    INSERT INTO identity_transfers (transfer_subject, identity_id, target_team, created_at)
    SELECT person || '-transfer', identity_id, person || '-team', moment FROM identity
), replacement AS (
    INSERT INTO email_replacements (account_id, email, requested_by, request_id, language, due_at, created_at)
    SELECT account_id, person || '-new@example.com', person || '-support', person || '-request', 'en', later, moment
    FROM account
), ticket AS (
    INSERT INTO link_tickets (ticket_hash, provider, realm, subject, client_id, email, email_verified,
        is_private_email, email_authoritative, display_name, auth_time, created_at, expires_at, device_name,
        device_platform, issued_at)
    SELECT sha256(convert_to(person || '-secret-8', 'UTF8')), provider, realm, subject, person || '-app',
        person || '@mail.example', true, false, false, person || '-name', moment, moment, later, person || '-device',
        person || '-platform', moment
    FROM identity
), code AS (
    INSERT INTO mailed_codes (code_id, email, purpose, key_id, digits, address_key, mails, mailed_at, created_at,
        expires_at)
    SELECT gen_random_uuid(), email, 'signIn', person || '-secret-9', 6,
        sha256(convert_to(person || '-secret-10', 'UTF8')), 1, moment, moment, later
    FROM (VALUES (person || '@example.com')) address (email)
    RETURNING code_id
), mail AS (
    INSERT INTO outbox (message_id, kind, template, recipient, language, provider, client_name, code_id,
        expires_at, next_attempt_at, created_at)
    SELECT gen_random_uuid(), 'mail', 'client_linked', person || '@example.com', 'en', 'google',
        person || '-client-name', code_id, later, moment, moment
    FROM code
), event AS (
    INSERT INTO provider_events (event_id, provider, jti, position, type, kind, realm, subject, detail,
        token_fingerprints, occurred_at, received_at, status, processed_at)
    SELECT gen_random_uuid(), provider, person || '-jti', 0, person || '-type', 'account-disabled', realm, subject,
        person || '-detail', ARRAY[sha256(convert_to(person || '-secret-11', 'UTF8'))], moment, moment, 'done', moment
    FROM identity
)
INSERT INTO audit_events (event_id, type, actor, actor_name, account_id, identity_id, session_id, revocation_id,
    provider, jti, reason, request_id, network, created_at)
SELECT gen_random_uuid(), 'revocation_requested', actor, CASE actor WHEN 'administrator' THEN person || '-support' END,
    account_id, identity_id, session_id, message_id, 'google', person || '-jti', person || '-reason',
    person || '-' || actor || '-request', person || '-' || actor || '-network', moment
FROM account, identity, session, revocation,
    unnest(ARRAY['person', 'operator', 'administrator', 'provider', 'service']) actor
$$;
