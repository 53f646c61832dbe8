import Logging
import Migrator
import Postgres
import TestSupport
import Testing

/// Migrations meet data: each is applied to, and taken back from, a database with rows of the version before it.
@Suite struct MigrationSurvivalTests {
    /// Rows that the schema of a version can hold, and a query for what must be left of them all from then on.
    struct OldRows: Sendable {
        let version: Int
        let insert: SQL
        /// One text; has to be the same after every later migration, up and down.
        let digest: SQL
    }

    private static let rows = [
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
        OldRows(
            version: 16,
            insert: """
                WITH ticket AS (
                    UPDATE link_tickets SET device_name = 'phone', device_platform = 'ios' WHERE subject = '43'
                )
                UPDATE identities SET proven_at = '2026-01-01Z' WHERE subject = '42'
                """,
            digest: """
                SELECT concat_ws('|', t.device_name, t.device_platform, i.proven_at AT TIME ZONE 'UTC')
                FROM link_tickets t, identities i
                WHERE t.subject = '43' AND i.subject = '42'
                """),
        OldRows(
            version: 17,
            insert: """
                WITH event AS (
                    UPDATE audit_events
                    SET actor_name = 'kim'
                    WHERE event_id = '01890000-0000-7000-8000-00000000000c'
                )
                INSERT INTO admin_keys (key_id, name, key_hash, scopes, created_at, last_used_at, revoked_at)
                VALUES ('01890000-0000-7000-8000-000000000018', 'kim', decode(repeat('0e', 32), 'hex'), '{read,manage}',
                    '2026-12-01Z', '2026-12-02Z', '2026-12-03Z')
                """,
            digest: """
                SELECT concat_ws('|', k.name, k.key_hash, k.scopes, k.last_used_at AT TIME ZONE 'UTC',
                    k.revoked_at AT TIME ZONE 'UTC', e.actor_name)
                FROM admin_keys k, audit_events e
                WHERE e.event_id = '01890000-0000-7000-8000-00000000000c'
                """),
        // An older key has signed since its creation, its tokens perhaps for longest. The lines that sealed are recorded.
        OldRows(
            version: 18,
            insert:
                "INSERT INTO keyring_lines (key_id, written_at, created_at) VALUES ('k2', '2026-01-02Z', '2026-01-02Z')",
            digest: """
                SELECT concat_ws('|', signs_from AT TIME ZONE 'UTC', token_lifetime,
                    (SELECT string_agg(key_id, ',' ORDER BY key_id) FROM keyring_lines))
                FROM signing_keys
                WHERE signs_from = '2026-01-01Z' AND token_lifetime = 86400
                    AND (SELECT written_at FROM keyring_lines WHERE key_id = 'k0') = '2026-11-01Z'
                    AND (SELECT written_at FROM keyring_lines WHERE key_id = 'k1') > '2026-11-01Z'
                """),
        // Nothing proves the old account's address, which a provider has verified.
        OldRows(
            version: 19,
            insert: """
                WITH ticket AS (
                    UPDATE link_tickets
                    SET shown_account_id = '01890000-0000-7000-8000-000000000001',
                        shown_identity_ids = '{01890000-0000-7000-8000-000000000003}'
                    WHERE subject = '43'
                ), identity AS (
                    UPDATE identities SET notify_sign_in = true WHERE subject = '001.a'
                ), taken AS (
                    UPDATE accounts SET email_taken_at = '2026-01-04Z' WHERE status = 'disabled'
                )
                INSERT INTO mailbox_tickets (ticket_hash, email, shown_account_id, shown_identity_ids, device_name,
                    auth_time, created_at, expires_at)
                VALUES (decode(repeat('0f', 32), 'hex'), 'kim@example.com', '01890000-0000-7000-8000-000000000001', '{}',
                    'phone', '2026-01-01Z', '2026-01-01Z', '2026-01-01T00:10Z')
                """,
            digest: """
                SELECT concat_ws('|', a.email_proof, a.email_proof_source, o.email_taken_at AT TIME ZONE 'UTC',
                    t.shown_account_id, t.shown_identity_ids, i.notify_sign_in, m.email, m.shown_account_id,
                    m.shown_identity_ids, m.device_name)
                FROM accounts a, accounts o, link_tickets t, identities i, mailbox_tickets m
                WHERE a.email_proof = 'stated' AND a.email = 'kim@example.com' AND o.status = 'disabled'
                    AND t.subject = '43' AND i.subject = '001.a'
                """),
        // What was refused by the time of the authentication still is.
        OldRows(
            version: 20,
            insert: """
                WITH code AS (
                    INSERT INTO mailed_codes (code_id, email, purpose, ticket_hash, key_id, digits, address_key, tries, mails,
                        mailed_at, created_at, expires_at)
                    VALUES ('01890000-0000-7000-8000-000000000020', 'kim@example.com', 'bind',
                        decode(repeat('01', 32), 'hex'), 'k1', 10, decode(repeat('0f', 32), 'hex'), 3, 2, '2026-01-01Z',
                        '2026-01-01Z', '2026-01-01T00:10Z')
                ), network AS (
                    INSERT INTO mailed_code_networks (code_id, network, asked, tries, mails, created_at)
                    VALUES ('01890000-0000-7000-8000-000000000020', '192.0.2.0/24', true, 3, 2, '2026-01-01Z')
                ), mail AS (UPDATE outbox SET known_network = '192.0.2.0/24' WHERE code_id IS NOT NULL)
                INSERT INTO guessed_addresses (address_key, latest_wrong, wrong_since_success, attacked_at, short_full_at,
                    long_full_at, forget_at, created_at)
                VALUES (decode(repeat('0f', 32), 'hex'), '{2026-01-01Z,2026-01-02Z}', 101, '2026-01-02Z', '2026-06-01Z',
                    '2026-01-03Z', '2027-01-02Z', '2026-01-01Z')
                """,
            digest: """
                SELECT concat_ws('|', c.email, c.purpose, c.ticket_hash, c.digits, c.tries, c.mails, n.network, n.tries,
                    n.mails, g.wrong_since_success, g.attacked_at AT TIME ZONE 'UTC', o.known_network)
                FROM mailed_codes c
                JOIN mailed_code_networks n ON n.code_id = c.code_id
                JOIN guessed_addresses g ON g.address_key = c.address_key
                JOIN outbox o ON o.known_network IS NOT NULL
                """),
        OldRows(
            version: 21,
            insert: """
                WITH ticket AS (
                    UPDATE link_tickets SET issued_at = '2026-01-02Z' WHERE subject = '43'
                )
                UPDATE sessions
                SET rotation_network = '192.0.2.0/24', same_network_replacements = 1, last_used_ip = '192.0.2.2'
                WHERE ended_at IS NULL
                """,
            digest: """
                SELECT string_agg(concat_ws('|', s.rotation_parent, s.rotation_network,
                    s.same_network_replacements, s.other_network_replacements, s.last_used_ip,
                    t.issued_at AT TIME ZONE 'UTC', i.auth_not_before AT TIME ZONE 'UTC'), E'\\n' ORDER BY session_id)
                FROM sessions s, link_tickets t, identities i
                WHERE t.subject = '43' AND i.subject = '001.a' AND i.auth_not_before = '2026-01-05Z'
                """),
        OldRows(
            version: 22,
            insert: """
                INSERT INTO email_replacements (account_id, email, requested_by, request_id, language, due_at, created_at)
                VALUES ('01890000-0000-7000-8000-000000000001', 'kim@third.example', 'kim', 'r1', 'en', '2026-01-02Z',
                    '2026-01-01Z')
                """,
            digest: """
                SELECT concat_ws('|', account_id, email, requested_by, request_id, language, due_at AT TIME ZONE 'UTC',
                    created_at AT TIME ZONE 'UTC') FROM email_replacements
                """),
        OldRows(
            version: 29, insert: "UPDATE audit_seals SET begins_at = '2026-01-01Z' WHERE seal_number = 1",
            digest: "SELECT max(begins_at AT TIME ZONE 'UTC')::text FROM audit_seals"),
        importRows,
    ]

    @Test func `rows of every version survive all later migrations, and the way back`() async throws {
        try await ScratchDatabase.withFreshPool { database in
            let migrator = Migrator(
                database: database, logger: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
            let versions = Migration.embedded.map(\.version)
            var expected: [String] = []
            for version in versions {
                _ = try await migrator.up(to: version)
                try await Self.expect(expected, at: version, in: database)
                for rows in Self.rows where rows.version == version {
                    _ = try await database.execute(rows.insert)
                    expected.append(try #require(try await Self.digest(rows, in: database)))
                }
            }
            #expect(expected.count == Self.rows.count)
            for version in versions.reversed() {
                _ = try await migrator.down(steps: 1)
                expected.removeLast(Self.rows.filter { $0.version == version }.count)
                try await Self.expect(expected, at: version - 1, in: database)
            }
        }
    }

    /// The audit trail is partitioned by month, and what falls outside of the months goes to a default partition.
    @Test func `an audit event is kept in the partition of its month`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let rows = Self.rows.filter { $0.version == 7 }
            for row in rows {
                _ = try await database.execute(row.insert)
                let digest = try #require(try await Self.digest(row, in: database))
                let partitions = digest.split(separator: "\n").compactMap { $0.split(separator: "|").first }
                #expect(partitions == ["audit_events_2026_11", "audit_events_2026_12", "audit_events_default"])
            }
        }
    }

    private static func digest(_ rows: OldRows, in database: Database) async throws -> String? {
        let texts = try await database.query(rows.digest) { row throws(PostgresError) in try row.decode(String?.self) }
        return texts.first ?? nil
    }

    private static func expect(_ expected: [String], at version: Int, in database: Database) async throws {
        for (rows, digest) in zip(Self.rows, expected) {
            let found = try await Self.digest(rows, in: database)
            #expect(found == digest, "rows of version \(rows.version), at version \(version)")
        }
    }
}
