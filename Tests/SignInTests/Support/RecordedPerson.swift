import Accounts
import Postgres
import SignIn

/// A person of whom every table has a row, and every column a value. Each text but the fixed ones begins with the
/// person's name; what may not leave the database is made of ``secrets``.
struct RecordedPerson: Sendable {
    let id: AccountID
    let name: String

    /// Texts that are stored as they are, or by their SHA-256.
    var secrets: [String] { (1...12).map { "\(name)-secret-\($0)" } }

    init(_ name: String, in database: Database, at now: Timestamp) async throws {
        let id = AccountID(now: now)
        self.id = id
        self.name = name
        let later = now.advanced(bySeconds: 300)
        try await database.execute(
            """
            WITH account AS (
                INSERT INTO accounts (account_id, email, email_verified, email_proof, email_proof_source, email_taken_at,
                    display_name, status, disabled_reason, password_hash, pending_email, pending_email_expires_at,
                    tokens_not_before, external_id, created_at)
                VALUES (\(id), \(name) || '@example.com', true, 'proven', 'mailed_code', \(now), \(name) || '-name', 'disabled',
                    'administrator', \(name) || '-secret-1', \(name) || '-pending@example.com', \(later), \(now), \(name) || '-external', \(now))
                RETURNING account_id
            ), identity AS (
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
                    is_private_email, authorization_status, last_sign_in_at, created_at, email_deliverable, blocked_at,
                    block_reason, credential_change_required_at, not_before, auth_not_before, proven_at)
                SELECT gen_random_uuid(), account_id, 'google', 'main', \(name) || '-subject', \(name) || '@mail.example', true, false,
                    'active', \(now), \(now), true, \(now), \(name) || '-block', \(now), \(now), \(now), \(now)
                FROM account
                RETURNING identity_id, provider, realm, subject
            ), session AS (
                INSERT INTO sessions (session_id, account_id, identity_id, generation, rotated_at, auth_time, amr, device_name,
                    device_platform, ip, created_at, last_used_at, expires_at, ended_at, end_reason, provider_auth_time,
                    last_used_ip, rotation_network)
                SELECT gen_random_uuid(), account_id, identity_id, 987654321, \(now), \(now), '{google}', \(name) || '-device',
                    \(name) || '-platform', \(name) || '-ip', \(now), \(now), \(later), \(now), 'signed_out', \(now), \(name) || '-last-ip',
                    \(name) || '-network'
                FROM account, identity
                RETURNING session_id
            ), browser AS (
                INSERT INTO web_sessions (session_hash, session_id, created_at)
                SELECT sha256(convert_to(\(name) || '-secret-2', 'UTF8')), session_id, \(now) FROM session
            ), client AS (
                INSERT INTO oauth_clients (client_id, name, redirect_uris, scopes, assertion_audiences, require_pkce,
                    rotate_refresh, streamlined_create, introspect, status, secret_hash, created_at)
                SELECT \(name) || '-client', \(name) || '-client-name', '{}', '{}', '{}', false, false, false, false, 'active',
                    sha256(convert_to(\(name) || '-secret-3', 'UTF8')), \(now)
                RETURNING client_id
            ), oauth_grant AS (
                INSERT INTO oauth_grants (grant_id, account_id, client_id, scopes, linked_at, last_used_at)
                SELECT gen_random_uuid(), account_id, client_id, '{openid}', \(now), \(now) FROM account, client
                RETURNING grant_id
            ), chain AS (
                INSERT INTO oauth_chains (chain_id, grant_id, origin, scopes, created_at)
                SELECT gen_random_uuid(), grant_id, 'web', '{openid}', \(now) FROM oauth_grant
                RETURNING chain_id
            ), access AS (
                INSERT INTO oauth_access_tokens (token_hash, chain_id, scopes, created_at, expires_at)
                SELECT sha256(convert_to(\(name) || '-secret-4', 'UTF8')), chain_id, '{openid}', \(now), \(later) FROM chain
            ), refresh AS (
                INSERT INTO oauth_refresh_tokens (token_hash, chain_id, fingerprint, created_at)
                SELECT sha256(convert_to(\(name) || '-secret-12', 'UTF8')), chain_id,
                    sha512(convert_to(\(name) || '-secret-12', 'UTF8')), \(now)
                FROM chain
            ), revocation AS (
                INSERT INTO outbox (message_id, kind, status, provider, realm, subject, identity_id, attempts, next_attempt_at,
                    last_error, created_at, finished_at)
                SELECT gen_random_uuid(), 'revocation', 'failed', provider, realm, subject, identity_id, 7, \(now),
                    \(name) || '-error', \(now), \(now)
                FROM identity
                RETURNING message_id
            ), provider_grant AS (
                INSERT INTO provider_grants (grant_id, identity_id, revocation_id, provider, realm, subject, client_id,
                    sealed_refresh_token, prefix_fingerprint, digest_fingerprint, check_at, doubted_at, created_at)
                SELECT gen_random_uuid(), CASE number WHEN 1 THEN identity_id END, CASE number WHEN 2 THEN message_id END,
                    provider, realm, subject, \(name) || '-provider-client', sha256(convert_to(\(name) || '-secret-5', 'UTF8')),
                    sha256(convert_to(\(name) || '-secret-6', 'UTF8')), sha256(convert_to(\(name) || '-secret-7', 'UTF8')), \(now), \(now),
                    \(now)
                FROM identity, revocation, generate_series(1, 2) number
            ), transfer AS (
                INSERT INTO identity_transfers (transfer_subject, identity_id, target_team, created_at)
                SELECT \(name) || '-transfer', identity_id, \(name) || '-team', \(now) FROM identity
            ), replacement AS (
                INSERT INTO email_replacements (account_id, email, requested_by, request_id, language, due_at, created_at)
                SELECT account_id, \(name) || '-new@example.com', \(name) || '-support', \(name) || '-request', 'en', \(later), \(now)
                FROM account
            ), ticket AS (
                INSERT INTO link_tickets (ticket_hash, provider, realm, subject, client_id, email, email_verified,
                    is_private_email, email_authoritative, display_name, auth_time, created_at, expires_at, device_name,
                    device_platform, issued_at)
                SELECT sha256(convert_to(\(name) || '-secret-8', 'UTF8')), provider, realm, subject, \(name) || '-app',
                    \(name) || '@mail.example', true, false, false, \(name) || '-name', \(now), \(now), \(later), \(name) || '-device',
                    \(name) || '-platform', \(now)
                FROM identity
            ), code AS (
                INSERT INTO mailed_codes (code_id, email, purpose, key_id, digits, address_key, mails, mailed_at, created_at,
                    expires_at)
                SELECT gen_random_uuid(), email, 'signIn', \(name) || '-secret-9', 6,
                    sha256(convert_to(\(name) || '-secret-10', 'UTF8')), 1, \(now), \(now), \(later)
                FROM (VALUES (\(name) || '@example.com')) address (email)
                RETURNING code_id
            ), mail AS (
                INSERT INTO outbox (message_id, kind, template, recipient, language, provider, client_name, code_id,
                    expires_at, next_attempt_at, created_at)
                SELECT gen_random_uuid(), 'mail', 'client_linked', \(name) || '@example.com', 'en', 'google', \(name) || '-client-name',
                    code_id, \(later), \(now), \(now)
                FROM code
            ), event AS (
                INSERT INTO provider_events (event_id, provider, jti, position, type, kind, realm, subject, detail,
                    token_fingerprints, occurred_at, received_at, status, processed_at)
                SELECT gen_random_uuid(), provider, \(name) || '-jti', 0, \(name) || '-type', 'account-disabled', realm, subject,
                    \(name) || '-detail', ARRAY[sha256(convert_to(\(name) || '-secret-11', 'UTF8'))], \(now), \(now), 'done', \(now)
                FROM identity
            )
            INSERT INTO audit_events (event_id, type, actor, actor_name, account_id, identity_id, session_id, revocation_id,
                provider, jti, reason, request_id, network, created_at)
            SELECT gen_random_uuid(), 'revocation_requested', actor, CASE actor WHEN 'administrator' THEN \(name) || '-support' END,
                account_id, identity_id, session_id, message_id, 'google', \(name) || '-jti', \(name) || '-reason',
                \(name) || '-' || actor || '-request', \(name) || '-' || actor || '-network', \(now)
            FROM account, identity, session, revocation,
                unnest(ARRAY['person', 'operator', 'administrator', 'provider', 'service']) actor
            """)
    }
}
