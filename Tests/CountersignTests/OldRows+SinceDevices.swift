import Postgres

extension OldRows {
    /// Of the versions from 16 on, which keeps the devices of sessions.
    static let sinceDevices = [
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
            version: 27,
            insert: """
                INSERT INTO console_sessions (session_hash, key_id, created_at, last_used_at)
                VALUES (decode(repeat('27', 32), 'hex'), '01890000-0000-7000-8000-000000000018', '2026-01-01Z',
                    '2026-01-02Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', session_hash, key_id, last_used_at AT TIME ZONE 'UTC'), E'\\n')
                FROM console_sessions
                WHERE key_id IS NOT NULL
                """),
        OldRows(
            version: 29, insert: "UPDATE audit_seals SET begins_at = '2026-01-01Z' WHERE seal_number = 1",
            digest: "SELECT max(begins_at AT TIME ZONE 'UTC')::text FROM audit_seals"),
        // A row for each index of the searches, in a month, the next one and the default partition.
        OldRows(
            version: 30,
            insert: """
                INSERT INTO audit_events (event_id, type, actor, actor_name, account_id, identity_id, request_id, network,
                    created_at)
                VALUES ('01890000-0000-7000-8000-000000000030', 'signed_in', 'person', NULL,
                        '01890000-0000-7000-8000-000000000001', '01890000-0000-7000-8000-000000000003', 'r30',
                        '192.0.2.0/24', '2026-11-30T23:59:59.999999Z'),
                    ('01890000-0000-7000-8000-000000000031', 'account_disabled', 'administrator', 'kim', NULL, NULL, 'r30',
                        NULL, '2026-12-01Z'),
                    ('01890000-0000-7000-8000-000000000032', 'credential_rejected', 'person', NULL, NULL, NULL, NULL,
                        '192.0.2.0/24', '2031-01-01Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', tableoid::regclass, event_id, actor, actor_name, identity_id, request_id,
                    network), E'\\n' ORDER BY event_id)
                FROM audit_events
                WHERE request_id = 'r30' OR network = '192.0.2.0/24'
                """),
        OldRows(
            version: 31,
            insert: """
                WITH staff AS (
                    INSERT INTO console_staff (name, subject, created_at) VALUES ('ann', '110', '2026-01-01Z')
                ), flow AS (
                    INSERT INTO console_flows (flow_hash, destination, created_at)
                    VALUES (decode(repeat('31', 32), 'hex'), '/console/audit', '2026-01-01Z')
                )
                INSERT INTO console_sessions (session_hash, staff_name, created_at, last_used_at)
                VALUES (decode(repeat('32', 32), 'hex'), 'ann', '2026-01-01Z', '2026-01-02Z')
                """,
            digest: """
                SELECT concat_ws('|', p.name, p.subject, s.session_hash, s.last_used_at AT TIME ZONE 'UTC', f.flow_hash,
                    f.destination)
                FROM console_staff p
                JOIN console_sessions s ON s.staff_name = p.name
                CROSS JOIN console_flows f
                """),
        OldRows(
            version: 32,
            insert: """
                WITH account AS (
                    INSERT INTO accounts (account_id, created_at)
                    VALUES ('01890000-0000-7000-8000-000000000033', '2026-01-01Z')
                )
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
                    is_private_email, created_at)
                VALUES ('01890000-0000-7000-8000-000000000034', '01890000-0000-7000-8000-000000000033', 'apple', 'main',
                        '001.r', 'relayed@privaterelay.appleid.com', true, true, '2026-01-01Z'),
                    ('01890000-0000-7000-8000-000000000035', '01890000-0000-7000-8000-000000000033', 'google', 'main',
                        '44', NULL, false, false, '2026-01-01Z')
                """,
            digest: """
                SELECT string_agg(concat_ws('|', identity_id, subject, email), E'\\n' ORDER BY identity_id)
                FROM identities
                WHERE account_id = '01890000-0000-7000-8000-000000000033'
                """),
        OldRows(
            version: 33,
            insert: """
                WITH import AS (
                    INSERT INTO imports (import_id, name, source, sealed_key, outcomes, outcome_counts, created_at,
                        last_run_at)
                    VALUES ('01890000-0000-7000-8000-000000000033', 'old', 'ndjson', '\\x01', '{created}', '{1}',
                        '2026-01-01Z', '2026-01-01Z')
                ), marked AS (
                    INSERT INTO imported_rows (import_id, external_id_digest, account_id, created_at)
                    VALUES ('01890000-0000-7000-8000-000000000033', decode(repeat('0f', 32), 'hex'),
                        '01890000-0000-7000-8000-000000000001', '2026-01-01Z')
                )
                UPDATE accounts SET external_id = 'u1' WHERE email = 'kim@example.com'
                """,
            digest: """
                SELECT concat_ws('|', i.name, i.outcomes, i.outcome_counts, r.external_id_digest, r.is_touched, a.external_id)
                FROM imports i
                JOIN imported_rows r ON r.import_id = i.import_id
                JOIN accounts a ON a.account_id = r.account_id
                """),
        OldRows(
            version: 34,
            insert: """
                INSERT INTO accounts (account_id, external_id, created_at)
                VALUES ('01890000-0000-7000-8000-000000000036', repeat('x', 255), '2026-01-01Z')
                """,
            digest: "SELECT account_id || external_id FROM accounts WHERE octet_length(external_id) = 255"),
    ]
}
