import Accounts
import Postgres

extension ExportedTable {
    /// Every table that holds something about the person of an account. A test compares it, together with
    /// ``omittedTables``, with the schema, so that a new column is either exported or left out for a reason.
    package static let all: [ExportedTable] =
        [account, identities, sessions, browserSessions, linkedClients, consents]
        + [providerGrants, transfers, revocations, emailReplacements, openTickets, mailedCodes, waitingMails]
        + [providerEvents, auditEvents]

    private static let feed =
        "ids and words of events that the list auditEvents has too, for the customer's own backend"

    /// The tables that are left out, and why.
    package static let omittedTables: [String: String] = [
        "admin_keys": administration, "console_sessions": administration, "console_staff": administration,
        "console_flows": administration, "audit_head": service, "audit_seals": service,
        "keyring_lines": service,
        "schema_migrations": service, "signing_keys": service, "oauth_clients": "other services",
        "oauth_codes": tokens, "oauth_refresh_tokens": tokens, "oauth_access_tokens": tokens,
        "imports": administration,
        "imported_rows": "which import made the account, under a keyed digest of the externalId that is listed with it",
        "refused_tokens": "of identities that are gone, under a digest, for a day",
        "email_codes": "copies of mailed_codes for processes of the release before",
        "mailed_code_networks": "the networks of those who asked for a code or tried one, who may be others",
        "guessed_addresses": counts, "rate_limits": counts, "nonces": "of no person",
        "mailbox_tickets": "of the reader of a mailbox, who has yet to show that the account is theirs",
        "unstamped_events": feed, "account_events": feed, "account_sequences": feed, "feed_head": service,
        "restores": service, "session_looks": service,
        "webhook_endpoints": service, "webhook_streams": service, "webhook_parked": feed, "webhook_failures": feed,
        "web_flows": "a sign-in under way in a browser, gone within the hour; what came of it is listed",
        "web_registrations": "of who has yet to prove the address, gone with the code that does",
    ]

    private static let administration = "administrators, who need no account"
    private static let service = "the service's own"
    private static let tokens = "codes and tokens; the consents that they come of are listed"
    private static let counts = "counts of anybody's guesses and requests, under a keyed digest"
    private static let ofAccount = "the account's own"
    private static let secret = "a token or code, or what one is found by or derived from"
    private static let rotation = "counts the refresh tokens of a session"
    private static let work = "how far the service is with the row"

    /// The rows that are about an identity of the account.
    private static func isOfIdentity(_ id: AccountID) -> SQL {
        "(subject, provider, realm) IN (SELECT subject, provider, realm FROM identities WHERE account_id = \(id))"
    }

    private static func revocationIDs(of id: AccountID) -> SQL {
        "SELECT e.revocation_id FROM audit_events e WHERE e.account_id = \(id) AND e.revocation_id IS NOT NULL"
    }

    /// The account's address, if it is proven. An address that is only stated or claimed may belong to another
    /// person by now, whom the mail is about.
    private static func provenAddress(of id: AccountID) -> SQL {
        "(SELECT email FROM accounts WHERE account_id = \(id) AND email_verified AND email_proof = 'proven')"
    }

    // MARK: The account and its ways in

    private static let account = ExportedTable(
        "accounts", as: "account", .object,
        columns: [
            "account_id", "external_id", "email", "email_verified",
            .init("email_proof", reading: "CASE WHEN a.email IS NOT NULL THEN \(AccountRow.proof) END"),
            "email_proof_source", "email_taken_at", "display_name", "status", "disabled_reason", "created_at",
            .init("password_hash", as: "hasPassword", reading: "password_hash IS NOT NULL"),
            .init("pending_email", as: "email", in: "pendingEmail"),
            .init("pending_email_expires_at", as: "expiresAt", in: "pendingEmail"), "tokens_not_before",
        ], omitted: ["password_is_unused": "whether a password that an import brought has opened the account"],
        from: "accounts a", id: "account_id"
    ) { id, _ in "account_id = \(id)" }

    private static let identities = ExportedTable(
        "identities", as: "identities",
        columns: [
            "identity_id", "provider", "realm", "subject", "email", "email_verified", "is_private_email",
            "email_deliverable", .init("blocked_at", as: "since", in: "blocked"),
            .init(
                "block_reason", as: "reason", in: "blocked",
                reading: "CASE WHEN blocked_at IS NOT NULL THEN COALESCE(block_reason, 'account-disabled') END"),
            "credential_change_required_at", .init("created_at", as: "linkedAt"), "last_sign_in_at", "proven_at",
            .init("authorization_status", as: "authorization"), .init("not_before", as: "tokensNotBefore"),
            .init("auth_not_before", as: "authenticationNotBefore"), .init("notify_sign_in", as: "isNextSignInNoticed"),
        ],
        omitted: ["account_id": ofAccount], id: "identity_id"
    ) { id, _ in "account_id = \(id)" }

    private static let sessions = ExportedTable(
        "sessions", as: "sessions",
        columns: [
            "session_id", "identity_id", .init("device_name", as: "name", in: "device"),
            .init("device_platform", as: "platform", in: "device"), "ip", "last_used_ip", "created_at", "last_used_at",
            "expires_at", "ended_at", "end_reason", "amr", .init("auth_time", as: "authenticatedAt"),
            .init("provider_auth_time", as: "providerAuthenticatedAt"), .init("rotated_at", as: "refreshedAt"),
            .init("rotation_network", as: "refreshNetwork"),
        ],
        omitted: [
            "account_id": ofAccount, "generation": rotation, "parent_generation": rotation, "rotation_parent": rotation,
            "same_network_replacements": rotation, "other_network_replacements": rotation,
        ], id: "session_id"
    ) { id, _ in "account_id = \(id)" }

    private static let browserSessions = ExportedTable(
        "web_sessions", as: "browserSessions", columns: ["session_id", "created_at"], omitted: ["session_hash": secret],
        id: "encode(session_hash, 'hex')", idType: "text"
    ) { id, _ in "session_id IN (SELECT s.session_id FROM sessions s WHERE s.account_id = \(id))" }

    private static let linkedClients = ExportedTable(
        "oauth_grants", as: "linkedClients",
        columns: [
            "grant_id", "client_id",
            .init(
                "client_id", as: "name",
                reading: "(SELECT c.name FROM oauth_clients c WHERE c.client_id = g.client_id)"),
            "scopes", "linked_at", "last_used_at",
        ],
        omitted: ["account_id": ofAccount], from: "oauth_grants g", time: "linked_at", id: "grant_id"
    ) { id, now in isLinked(to: id, at: now) }

    private static let consents = ExportedTable(
        "oauth_chains", as: "linkedClientConsents",
        columns: [.init("chain_id", as: "consentId"), "grant_id", "origin", "scopes", "created_at"], id: "chain_id"
    ) { id, now in "grant_id IN (SELECT g.grant_id FROM oauth_grants g WHERE \(isLinked(to: id, at: now)))" }

    /// The condition on `oauth_grants`, named `g`.
    private static func isLinked(to id: AccountID, at now: Timestamp) -> SQL {
        "g.account_id = \(id) AND \(OAuthGrantStore.isLinked(at: now))"
    }

    // MARK: Authorizations at the providers

    private static let providerGrants = ExportedTable(
        "provider_grants", as: "providerGrants",
        columns: [
            "grant_id", "identity_id", "provider", "realm", "subject", "client_id", "created_at", "check_at",
            "doubted_at", "revocation_id",
        ],
        omitted: [
            "ticket_hash": secret, "sealed_refresh_token": secret, "prefix_fingerprint": secret,
            "digest_fingerprint": secret,
        ], id: "grant_id"
    ) { id, _ in "\(isOfIdentity(id)) OR revocation_id IN (\(revocationIDs(of: id)))" }

    private static let transfers = ExportedTable(
        "identity_transfers", as: "identityTransfers",
        columns: ["transfer_subject", "identity_id", "target_team", "created_at"], id: "transfer_subject",
        idType: "text"
    ) { id, _ in "identity_id IN (SELECT i.identity_id FROM identities i WHERE i.account_id = \(id))" }

    /// Those of identities that are no longer linked too.
    private static let revocations = ExportedTable(
        "outbox", as: "revocations",
        columns: [
            .init("message_id", as: "revocationId"), "provider", "realm", "subject", "identity_id", "status",
            "attempts", "last_error", "created_at", "finished_at",
        ],
        omitted: ["kind": "by it the rows are in one list or the other", "account_id": ofAccount], id: "message_id"
    ) { id, _ in "kind = 'revocation' AND message_id IN (\(revocationIDs(of: id)))" }

    // MARK: What is under way

    /// The address is masked: an administrator replaces it for an owner who has lost the mailbox, and an intruder in
    /// the account may read the export.
    private static let emailReplacements = ExportedTable(
        "email_replacements", as: "emailReplacements",
        columns: [
            .init("email", reading: "regexp_replace(email, '^(.).*@', '\\1***@')"), "requested_by", "language",
            "due_at",
            .init("created_at", as: "requestedAt"),
        ],
        omitted: ["account_id": ofAccount, "request_id": "of an administrator's request"], id: "account_id"
    ) { id, _ in "account_id = \(id)" }

    private static let openTickets = ExportedTable(
        "link_tickets", as: "openTickets",
        columns: [
            "provider", "realm", "subject", "client_id", "email", "email_verified", "is_private_email",
            "email_authoritative", "display_name", .init("device_name", as: "name", in: "device"),
            .init("device_platform", as: "platform", in: "device"), .init("auth_time", as: "authenticatedAt"),
            "issued_at", "created_at", "expires_at",
        ],
        omitted: [
            "ticket_hash": secret, "consumed_at": "those that are spent are not listed",
            "shown_account_id": "another account", "shown_identity_ids": "another account's",
        ], id: "encode(ticket_hash, 'hex')", idType: "text"
    ) { id, now in "consumed_at IS NULL AND expires_at > \(now) AND \(isOfIdentity(id))" }

    private static let mailedCodes = ExportedTable(
        "mailed_codes", as: "mailedCodes",
        columns: ["email", "purpose", "digits", "mails", "tries", "mailed_at", "created_at", "expires_at"],
        omitted: ["code_id": secret, "key_id": secret, "ticket_hash": secret, "address_key": secret], id: "code_id"
    ) { id, now in "expires_at > \(now) AND email IN \(provenAddress(of: id))" }

    private static let waitingMails = ExportedTable(
        "outbox", as: "waitingMails",
        columns: [
            .init("message_id", as: "mailId"), .init("template", as: "kind"), "recipient", "language", "provider",
            "client_name", "created_at", "next_attempt_at", "expires_at",
        ],
        omitted: [
            "failures": work, "claimed_until": work, "code_id": secret,
            "known_network": "a network that the account is used from, as its sessions show",
            "request_id": "of who asked for it, who may be another",
            "asked_from": "where they asked from, who may be another", "turn_at": work,
        ], id: "message_id"
    ) { id, _ in "kind = 'mail' AND status = 'pending' AND recipient IN \(provenAddress(of: id))" }

    // MARK: What was recorded

    private static let providerEvents = ExportedTable(
        "provider_events", as: "providerEvents",
        columns: [
            "event_id", "provider", "realm", "subject", "jti", "type", "kind", "detail", "status", "occurred_at",
            "received_at", "processed_at",
        ],
        omitted: [
            "position": "its place in the provider's token", "token_fingerprints": secret,
            "kept_until": "for how long it refuses tokens",
        ], time: "received_at",
        id: "event_id"
    ) { id, _ in isOfIdentity(id) }

    /// Where staff and providers called from, and by which request, is theirs. So is where one came from who may be another.
    private static let isOwnRequest: SQL =
        "actor = 'person' AND type = ANY (\(AuditEvent.Kind.allCases.filter { $0.isOfThePersonAlone }.map(\.rawValue)))"

    private static let auditEvents = ExportedTable(
        "audit_events", as: "auditEvents",
        columns: [
            "event_id", "type", "actor", "actor_name", "account_id", "identity_id", "session_id", "revocation_id",
            "provider", "jti", "reason", .init("request_id", reading: "CASE WHEN \(isOwnRequest) THEN request_id END"),
            .init("network", reading: "CASE WHEN \(isOwnRequest) THEN network END"), "occurrences", "created_at",
        ],
        omitted: ["transaction_id": "its place in the sealed trail", "chain": "its place in the sealed trail"],
        id: "event_id"
    ) { id, _ in "account_id = \(id)" }
}
