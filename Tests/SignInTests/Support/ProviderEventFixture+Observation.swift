import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Observations of accounts, events and the audit trail.
extension ProviderEventFixture {
    /// The status of each token's event, by the token's id.
    func statuses() async throws -> [String: String] {
        let rows = try await database.query("SELECT jti, status FROM provider_events", as: String.self, String.self)
        return Dictionary(rows.map { ($0.0, $0.1) }) { "\($0) \($1)" }
    }

    /// One line for each event: its token's id, its status, and whom it names.
    func subjects() async throws -> [String?] {
        try await texts("SELECT concat_ws(' ', jti, status, subject) FROM provider_events ORDER BY jti")
    }

    /// One line for each audit record that names a token: the token's id, type, actor, provider and reason.
    func audited() async throws -> [String] {
        try await database.query(
            """
            SELECT concat_ws(' ', jti, type, actor, provider, reason)
            FROM audit_events
            WHERE jti IS NOT NULL
            ORDER BY created_at, event_id
            """, as: String.self)
    }

    /// Whether the recorded effects of this token name the account and the identity.
    func isRecorded(_ id: String, of signedIn: SignedIn) async throws -> Bool {
        let rows = try await count(
            """
            audit_events
            WHERE jti = \(id) AND account_id = \(signedIn.account.id) AND identity_id = \(signedIn.identity?.id)
            """)
        return rows > 0
    }

    func isOpen(_ signedIn: SignedIn) async throws -> Bool {
        do {
            _ = try await opened(signedIn)
            return true
        } catch SignInFailure.invalidSession { return false }
    }

    func account(_ signedIn: SignedIn) async throws -> Account? {
        try await storage.accounts.account(signedIn.account.id)
    }

    /// The identity as the account has it now; `nil` if it is no longer linked.
    func identity(_ signedIn: SignedIn) async throws -> Identity? {
        try await account(signedIn)?.identities.first { $0.id == signedIn.identity?.id }
    }

    /// Takes an event about Kim while a transaction makes their account, and expects it to find them.
    ///
    /// - Parameter first: the statement by which the transaction begins, whose lock the event has to wait for.
    func expectEventFinds(personMadeAfter first: SQL, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await events.take(apple("consent-revoked", id: "e1"), from: .apple)
        let now = clock.now()
        let account = AccountID(now: now)
        let acting = try await people.interleave { transaction in
            _ = try await transaction.execute(first)
            _ = try await transaction.execute(
                "INSERT INTO accounts (account_id, created_at) VALUES (\(account), \(now))")
            _ = try await transaction.execute(
                """
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
                VALUES (\(IdentityID(now: now)), \(account), 'apple', 'main', 'kim', \(now))
                """)
        } with: {
            try await processAll()
        }
        try await acting.value
        #expect(try await statuses() == ["e1": "done"], sourceLocation: sourceLocation)
        #expect(
            try await texts("SELECT authorization_status FROM identities") == ["revoked"],
            sourceLocation: sourceLocation)
    }
}
