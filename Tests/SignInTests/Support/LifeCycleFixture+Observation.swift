import Accounts
import KeyRing
import Postgres
import SignIn
import Storage
import TestSupport

/// Observations here and at the providers.
extension LifeCycleFixture {
    static func tokenPath(_ provider: Provider) -> String { provider == .apple ? "/apple/auth/token" : "/google/token" }

    static func revokePath(_ provider: Provider) -> String {
        provider == .apple ? "/apple/auth/revoke" : "/google/revoke"
    }

    // MARK: At the provider

    /// The requests that sent the consent's code to the provider.
    func tokenRequests(of consent: Consent) async throws -> [Sandbox.Request] {
        let fingerprint = Sandbox.fingerprint(consent.code)
        return try await sandbox.history(path: Self.tokenPath(consent.provider))
            .filter { $0.field("code") == fingerprint }
    }

    /// The refresh tokens that a person's codes brought, in the order of their issue.
    func grants(_ provider: Provider, _ person: String = "kim", clientID: String? = nil) async throws -> [Sandbox.Grant]
    {
        let usual = provider == .apple ? Self.appleClient : Self.serverClient
        let side: Sandbox.Provider = provider == .apple ? .apple : .google
        return try await sandbox.authorization(side, person, clientID: clientID ?? usual)?.grants ?? []
    }

    /// Ends the authorization as the person does in the provider's settings.
    func withdraw(_ provider: Provider, _ person: String = "kim") async throws {
        switch provider {
        case .apple: try await sandbox.withdrawApple(person, clientID: Self.appleClient)
        case .google: try await sandbox.withdrawGoogle(person, clientID: Self.serverClient)
        }
    }

    // MARK: In the database

    func authorization(_ identity: Identity?) async throws -> String? {
        guard let identity else { return nil }
        let statuses = try await texts("SELECT authorization_status FROM identities WHERE identity_id = \(identity.id)")
        return statuses.first ?? nil
    }

    /// The refresh tokens, opened with `keyRing` or this fixture's, in the order of their creation.
    func refreshTokens(of grants: SQL = "provider_grants", by keyRing: KeyRing? = nil) async throws -> [String] {
        let rows = try await database.query(
            "SELECT grant_id, sealed_refresh_token FROM \(grants) ORDER BY created_at, grant_id",
            as: GrantID.self, [UInt8].self)
        return try rows.map { id, sealed in
            let bytes = try (keyRing ?? self.keyRing).open(sealed, for: .grants, at: Self.location(id))
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    static func location(_ id: GrantID) -> SealedLocation {
        SealedLocation(table: "provider_grants", row: id.description, column: "sealed_refresh_token")
    }

    /// The tables that hold a text in any column, as text or as bytes.
    func tables(holding text: String) async throws -> [String] {
        let names = try await database.query(
            """
            SELECT c.relname::text
            FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'public' AND c.relkind = 'r'
            ORDER BY c.relname
            """, as: String.self)
        let digits = Array("0123456789abcdef")
        let bytes = String(text.utf8.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
        var holding: [String] = []
        for name in names {
            let found = try await database.query(
                """
                SELECT EXISTS (
                    SELECT FROM \(unsafeSQL: name) t
                    WHERE strpos(t::text, \(text)) > 0 OR strpos(t::text, \(bytes)) > 0)
                """, as: Bool.self)
            if found == [true] { holding.append(name) }
        }
        return holding
    }

    // MARK: Revocations

    /// A revocation's row in the outbox.
    struct RevocationRow: Sendable, Equatable {
        let status: String
        let attempts: Int32
        let lastError: String?
        let nextAttemptAt: Timestamp
    }

    /// The revocations in the order of their creation; of those created at the same time, the one with fewer attempts
    /// comes first.
    func revocationRows() async throws -> [RevocationRow] {
        try await database.query(
            """
            SELECT status, attempts, last_error, next_attempt_at
            FROM outbox
            WHERE kind = 'revocation'
            ORDER BY created_at, attempts
            """
        ) { row throws(PostgresError) in
            let (status, attempts, error, next) = try row.decode(String.self, Int32.self, String?.self, Timestamp.self)
            return RevocationRow(status: status, attempts: attempts, lastError: error, nextAttemptAt: next)
        }
    }

    /// The recorded events of a kind, `actor reason`.
    func audited(_ kind: AuditEvent.Kind) async throws -> [String] {
        try await database.query(
            """
            SELECT actor || ' ' || COALESCE(reason, '-')
            FROM audit_events
            WHERE type = \(kind.rawValue)
            ORDER BY created_at, event_id
            """, as: String.self)
    }
}
