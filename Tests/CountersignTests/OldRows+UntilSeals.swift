import Postgres

extension OldRows {
    /// Of the versions up to 14, which sealed the trail.
    static let untilSeals = [
        OldRows(
            version: 1,
            insert: """
                INSERT INTO accounts (account_id, email, email_verified, password_hash, display_name, status,
                    disabled_reason, created_at)
                VALUES ('01890000-0000-7000-8000-000000000001', 'kim@example.com', true, 'scrypt$x', 'Kim', 'active',
                        NULL, '2026-01-01Z'),
                    ('01890000-0000-7000-8000-000000000002', NULL, false, NULL, NULL, 'disabled', 'email_reclaimed',
                        '2026-01-02Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', account_id, email, email_verified, password_hash, display_name, status,
                    disabled_reason, created_at AT TIME ZONE 'UTC'), E'\\n' ORDER BY account_id)
                FROM accounts
                WHERE account_id <= '01890000-0000-7000-8000-000000000002'
                """),
        OldRows(
            version: 1,
            insert: """
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
                    is_private_email, authorization_status, last_sign_in_at, created_at)
                VALUES ('01890000-0000-7000-8000-000000000003', '01890000-0000-7000-8000-000000000001', 'apple', 'main',
                        '001.a', 'x@privaterelay.appleid.com', true, true, 'none', '2026-01-03Z', '2026-01-01Z'),
                    ('01890000-0000-7000-8000-000000000004', '01890000-0000-7000-8000-000000000001', 'google', 'main',
                        '42', NULL, false, false, 'none', NULL, '2026-01-01Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', identity_id, account_id, provider, realm, subject, email, email_verified,
                    is_private_email, authorization_status, last_sign_in_at AT TIME ZONE 'UTC',
                    created_at AT TIME ZONE 'UTC'), E'\\n' ORDER BY identity_id)
                FROM identities
                WHERE identity_id <= '01890000-0000-7000-8000-000000000004'
                """),
        OldRows(
            version: 2,
            insert: """
                INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, amr, device_name, ip,
                    created_at, last_used_at, expires_at, ended_at, end_reason)
                VALUES ('01890000-0000-7000-8000-000000000005', '01890000-0000-7000-8000-000000000001',
                        '01890000-0000-7000-8000-000000000003', '2026-01-01Z', '2026-01-01Z', '{apple}', 'phone',
                        '192.0.2.1', '2026-01-01Z', '2026-01-01Z', '2026-03-01Z', NULL, NULL),
                    ('01890000-0000-7000-8000-000000000006', '01890000-0000-7000-8000-000000000001', NULL, '2026-01-01Z',
                        '2026-01-01Z', '{pwd}', NULL, NULL, '2026-01-01Z', '2026-01-01Z', '2026-03-01Z', '2026-01-02Z',
                        'signed_out')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', session_id, account_id, identity_id, generation, parent_generation, amr,
                    device_name, ip, ended_at AT TIME ZONE 'UTC', end_reason), E'\\n' ORDER BY session_id)
                FROM sessions
                """),
        OldRows(
            version: 3,
            insert: """
                INSERT INTO link_tickets (ticket_hash, provider, realm, subject, client_id, email, email_verified,
                    is_private_email, email_authoritative, display_name, auth_time, created_at, expires_at, consumed_at)
                VALUES (decode(repeat('01', 32), 'hex'), 'google', 'main', '43', 'web', 'lee@example.com', true, false,
                        false, 'Lee', '2026-01-01Z', '2026-01-01Z', '2026-01-01T00:10Z', NULL),
                    (decode(repeat('02', 32), 'hex'), 'apple', 'main', '001.b', 'com.example.lamp', NULL, false, false,
                        false, NULL, '2026-01-01Z', '2026-01-01Z', '2026-01-01T00:10Z', '2026-01-01T00:05Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', ticket_hash, subject, email, display_name,
                    consumed_at AT TIME ZONE 'UTC'), E'\\n' ORDER BY ticket_hash)
                FROM link_tickets
                """),
        OldRows(
            version: 4,
            insert: """
                INSERT INTO signing_keys (key_id, sealed_private_key, created_at) VALUES ('k', '\\x0102', '2026-01-01Z')
                """,
            digest: "SELECT string_agg(concat_ws('|', key_id, sealed_private_key), E'\\n') FROM signing_keys"),
        OldRows(
            version: 5,
            insert: """
                INSERT INTO outbox (message_id, kind, status, provider, realm, subject, identity_id, attempts,
                    next_attempt_at, last_error, created_at, finished_at)
                VALUES ('01890000-0000-7000-8000-000000000007', 'revocation', 'pending', 'apple', 'main', '001.c',
                        '01890000-0000-7000-8000-000000000008', 3, '2026-01-01Z', 'http_500', '2026-01-01Z', NULL),
                    ('01890000-0000-7000-8000-000000000009', 'revocation', 'done', 'google', 'main', NULL, NULL, 1,
                        '2026-01-01Z', NULL, '2026-01-01Z', '2026-01-01Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', message_id, status, provider, subject, identity_id, attempts, last_error),
                    E'\\n' ORDER BY message_id)
                FROM outbox
                WHERE kind = 'revocation'
                """),
        OldRows(
            version: 6,
            insert: """
                INSERT INTO provider_grants (grant_id, identity_id, revocation_id, provider, realm, subject, client_id,
                    sealed_refresh_token, prefix_fingerprint, digest_fingerprint, check_at, created_at)
                VALUES ('01890000-0000-7000-8000-00000000000a', '01890000-0000-7000-8000-000000000003', NULL, 'apple',
                        'main', '001.a', 'com.example.lamp', '\\x03', '\\x04', '\\x05', '2026-01-02Z', '2026-01-01Z'),
                    ('01890000-0000-7000-8000-00000000000b', NULL, '01890000-0000-7000-8000-000000000007', 'apple',
                        'main', '001.c', 'com.example.lamp', '\\x06', '\\x07', '\\x08', NULL, '2026-01-01Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', grant_id, identity_id, revocation_id, subject, sealed_refresh_token,
                    prefix_fingerprint), E'\\n' ORDER BY grant_id)
                FROM provider_grants
                """),
        OldRows(
            version: 7,
            insert: """
                INSERT INTO audit_events (event_id, type, actor, account_id, reason, created_at)
                VALUES ('01890000-0000-7000-8000-00000000000c', 'identity_unlinked', 'person',
                        '01890000-0000-7000-8000-000000000001', NULL, '2026-11-30T23:59:59.999999Z'),
                    ('01890000-0000-7000-8000-00000000000d', 'revocation_requested', 'operator', NULL, 'stolen phone',
                        '2026-12-01Z'),
                    ('01890000-0000-7000-8000-00000000000e', 'code_rejected', 'provider', NULL, NULL, '2031-01-01Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', tableoid::regclass, event_id, type, actor, account_id, reason), E'\\n'
                    ORDER BY event_id)
                FROM audit_events
                WHERE event_id <= '01890000-0000-7000-8000-00000000000e'
                """),
        OldRows(
            version: 8,
            insert: """
                INSERT INTO identity_transfers (transfer_subject, identity_id, target_team, created_at)
                VALUES ('760000.x', '01890000-0000-7000-8000-000000000003', 'TEAM000002', '2026-01-01Z')
                """,
            digest: "SELECT string_agg(concat_ws('|', transfer_subject, identity_id), E'\\n') FROM identity_transfers"),
        OldRows(
            version: 9,
            insert: "UPDATE identities SET not_before = '2026-01-05Z' WHERE subject = '001.a'",
            digest: """
                SELECT string_agg(concat_ws('|', subject, not_before AT TIME ZONE 'UTC'), E'\\n' ORDER BY subject)
                FROM identities
                WHERE not_before IS NOT NULL
                """),
        OldRows(
            version: 10,
            insert: """
                INSERT INTO outbox (message_id, kind, status, template, recipient, language, provider, code_id, expires_at,
                    attempts, failures, next_attempt_at, claimed_until, last_error, created_at, finished_at)
                VALUES ('01890000-0000-7000-8000-00000000000f', 'mail', 'pending', 'sign_in_code', 'kim@example.com', 'en',
                        NULL, '01890000-0000-7000-8000-000000000010', '2026-01-01T00:10Z', 1, 1, '2026-01-01Z',
                        '2026-01-01T00:01Z', 'timed_out', '2026-01-01Z', NULL),
                    ('01890000-0000-7000-8000-000000000011', 'mail', 'failed', 'identity_linked', NULL, 'de', 'google',
                        NULL, '2026-01-02Z', 1, 0, '2026-01-01Z', NULL, 'smtp_550', '2026-01-01Z', '2026-01-01Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', message_id, status, template, recipient, language, provider, code_id,
                    expires_at AT TIME ZONE 'UTC', attempts, failures, last_error), E'\\n' ORDER BY message_id)
                FROM outbox
                WHERE kind = 'mail'
                """),
        OldRows(
            version: 11,
            insert: """
                WITH code AS (
                    INSERT INTO email_codes (email, purpose, code_id, key_id, tries, created_at, expires_at)
                    VALUES ('kim@new.example', 'verifyEmail', '01890000-0000-7000-8000-000000000012', 'k1', 2,
                        '2026-01-01Z', '2026-01-01T00:10Z')
                )
                UPDATE accounts
                SET pending_email = 'kim@new.example', pending_email_expires_at = '2026-01-02Z'
                WHERE email = 'kim@example.com'
                """,
            digest: """
                SELECT concat_ws('|', a.pending_email, a.pending_email_expires_at AT TIME ZONE 'UTC', c.purpose, c.code_id,
                    c.key_id, c.tries, c.expires_at AT TIME ZONE 'UTC')
                FROM accounts a
                JOIN email_codes c ON c.email = a.pending_email
                """),
        OldRows(
            version: 12,
            insert: """
                INSERT INTO nonces (nonce_hash, expires_at, created_at)
                VALUES (decode(repeat('0a', 32), 'hex'), '2026-01-01T00:10Z', '2026-01-01Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', nonce_hash, expires_at AT TIME ZONE 'UTC'), E'\\n')
                FROM nonces
                """),
        OldRows(
            version: 13,
            insert: """
                INSERT INTO rate_limits (limit_key, full_at, created_at)
                VALUES (decode(repeat('0b', 32), 'hex'), '2026-01-01T00:15Z', '2026-01-01Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', limit_key, full_at AT TIME ZONE 'UTC'), E'\\n') FROM rate_limits
                """),
        OldRows(
            version: 14,
            insert: """
                WITH seal AS (
                    INSERT INTO audit_seals (seal_number, chain, transaction_id, event_id, row_count, total_count, key_id,
                        mac, created_at)
                    VALUES (1, 1, 12, '01890000-0000-7000-8000-000000000012', 1, 1, 'k0',
                            decode(repeat('0b', 32), 'hex'), '2026-11-01Z'),
                        (2, 1, 13, '01890000-0000-7000-8000-000000000013', 1, 2, 'k1',
                            decode(repeat('0c', 32), 'hex'), '2026-12-01Z')
                )
                INSERT INTO audit_head (seal_number, total_count, key_id, mac, created_at)
                VALUES (2, 2, 'k1', decode(repeat('0d', 32), 'hex'), '2026-12-01Z')
                """,
            digest: """
                SELECT concat_ws('|', s.chain, s.transaction_id, s.event_id, s.row_count, s.mac, h.seal_number, h.mac)
                FROM audit_seals s
                CROSS JOIN audit_head h
                ORDER BY s.seal_number DESC
                """),
    ]
}
