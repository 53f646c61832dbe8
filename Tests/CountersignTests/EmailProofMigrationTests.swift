import Accounts
import Logging
import Migrator
import Postgres
import Storage
import TestSupport
import Testing

/// Migration 0019, which gives the address of each account that is already there a degree.
@Suite struct EmailProofMigrationTests {
    private static let origin = ChangeOrigin(actor: .person, requestID: nil)

    /// An account as the schema of version 18 can hold it, and what its address is worth.
    private struct OldAccount: Sendable {
        var email: String?
        var isVerified = true
        /// One per provider.
        var identities: [OldIdentity] = []
        /// The types of the account's audit records, in their order.
        var events: [String] = []
        let proof: EmailProof?
        let source: EmailProof.Source?
    }

    private struct OldIdentity: Sendable {
        let provider: Provider
        var email: String?
        var isVerified = true
        var isPrivate = false
    }

    private static let accounts: [OldAccount] = [
        // Registered
        OldAccount(email: "registered@example.com", isVerified: false, proof: .claimed, source: .registration),
        OldAccount(
            email: "linked@gmail.com", isVerified: false,
            identities: [OldIdentity(provider: .google, email: "linked@gmail.com")], proof: .claimed,
            source: .registration),
        OldAccount(
            email: "typed@example.com", events: ["account_created", "email_verified"], proof: .proven,
            source: .mailedCode),
        OldAccount(email: "entered@example.com", events: ["email_proven"], proof: .proven, source: .mailedCode),
        OldAccount(
            email: "changed@example.com", events: ["email_change_requested", "email_changed", "signed_in"],
            proof: .proven, source: .mailedCode),
        OldAccount(
            email: "asked@example.com", isVerified: false, events: ["email_change_requested"], proof: .claimed,
            source: .registration),
        // Made with a provider that runs the mailbox, or forwards to it
        OldAccount(
            email: "own@gmail.com", identities: [OldIdentity(provider: .google, email: "own@gmail.com")],
            proof: .proven, source: .authoritativeProvider),
        OldAccount(
            email: "own@icloud.com", identities: [OldIdentity(provider: .apple, email: "own@icloud.com")],
            proof: .proven, source: .authoritativeProvider),
        OldAccount(
            email: "own@me.com", identities: [OldIdentity(provider: .apple, email: "own@me.com")], proof: .proven,
            source: .authoritativeProvider),
        OldAccount(
            email: "own@mac.com", identities: [OldIdentity(provider: .apple, email: "own@mac.com")], proof: .proven,
            source: .authoritativeProvider),
        OldAccount(
            email: "x@privaterelay.appleid.com",
            identities: [OldIdentity(provider: .apple, email: "x@privaterelay.appleid.com", isPrivate: true)],
            proof: .proven, source: .authoritativeProvider),
        // Made with one that doesn't
        OldAccount(
            email: "google@example.com", identities: [OldIdentity(provider: .google, email: "google@example.com")],
            events: ["account_created", "signed_in"], proof: .stated, source: .provider),
        OldAccount(
            email: "apple@example.com", identities: [OldIdentity(provider: .apple, email: "apple@example.com")],
            proof: .stated, source: .provider),
        OldAccount(
            email: "apple@gmail.com", identities: [OldIdentity(provider: .apple, email: "apple@gmail.com")],
            proof: .stated, source: .provider),
        OldAccount(
            email: "google@icloud.com", identities: [OldIdentity(provider: .google, email: "google@icloud.com")],
            proof: .stated, source: .provider),
        OldAccount(
            email: "sub@mail.gmail.com", identities: [OldIdentity(provider: .google, email: "sub@mail.gmail.com")],
            proof: .stated, source: .provider),
        OldAccount(
            email: "like@xgmail.com", identities: [OldIdentity(provider: .google, email: "like@xgmail.com")],
            proof: .stated, source: .provider),
        // An identity has another address by now, or one that its provider has not verified.
        OldAccount(
            email: "moved@example.com", identities: [OldIdentity(provider: .google, email: "moved@gmail.com")],
            proof: .stated, source: .provider),
        OldAccount(
            email: "doubt@gmail.com",
            identities: [
                OldIdentity(provider: .google, email: "doubt@gmail.com", isVerified: false),
                OldIdentity(provider: .apple, email: "doubt@gmail.com"),
            ], proof: .stated, source: .provider),
        OldAccount(email: "bare@example.com", proof: .stated, source: .provider),
        // Without an address
        OldAccount(isVerified: false, identities: [OldIdentity(provider: .google)], proof: nil, source: nil),
        OldAccount(isVerified: false, events: ["email_reclaimed"], proof: nil, source: nil),
    ]

    // MARK: Tools

    private static func migrator(_ database: Database) -> Migrator {
        Migrator(database: database, logger: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Takes the schema back to that of the release before.
    private static func back(_ database: Database) async throws {
        _ = try await migrator(database).down(steps: Migration.embedded.count { $0.version > 18 })
    }

    private static func id(_ number: Int) -> AccountID {
        AccountID(now: Timestamp(seconds: 1_767_225_600 + Int64(number)), random: [])
    }

    /// Writes the rows as a process of the release before did.
    private static func insert(_ account: OldAccount, _ id: AccountID, in database: Database) async throws {
        let now = Timestamp(seconds: 1_767_225_600)
        try await database.execute(
            """
            INSERT INTO accounts (account_id, email, email_verified, created_at)
            VALUES (\(id), \(account.email), \(account.isVerified), \(now))
            """)
        for identity in account.identities {
            try await database.execute(
                """
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
                    is_private_email, created_at)
                VALUES (gen_random_uuid(), \(id), \(identity.provider.rawValue), 'main', gen_random_uuid()::text,
                    \(identity.email), \(identity.isVerified), \(identity.isPrivate), \(now))
                """)
        }
        for (number, type) in account.events.enumerated() {
            try await database.execute(
                """
                INSERT INTO audit_events (event_id, type, actor, account_id, created_at)
                VALUES (gen_random_uuid(), \(type), 'person', \(id), \(now.advanced(bySeconds: Int64(number))))
                """)
        }
    }

    private static func proof(_ id: AccountID, in database: Database) async throws -> EmailProof? {
        try #require(try await AccountStore(database: database).account(id)).emailProof
    }

    private static func source(_ id: AccountID, in database: Database) async throws -> String? {
        let rows = try await database.query("SELECT email_proof_source FROM accounts WHERE account_id = \(id)") {
            row throws(PostgresError) in try row.decode(String?.self)
        }
        return rows.first ?? nil
    }

    /// What the release before knows of the addresses.
    private static func addresses(in database: Database) async throws -> [String] {
        try await database.query(
            "SELECT concat_ws(' ', account_id, email, email_verified) FROM accounts ORDER BY account_id",
            as: String.self)
    }

    private static func expectDegrees(_ time: String, in database: Database) async throws {
        for (number, account) in accounts.enumerated() {
            let name = "\(account.email ?? "no address, \(number)"), \(time)"
            #expect(try await proof(id(number), in: database) == account.proof, "\(name)")
            #expect(try await source(id(number), in: database) == account.source?.rawValue, "\(name)")
        }
    }

    // MARK: Degrees

    @Test func `each address has the degree that its account's history shows, also after the way back`() async throws {
        try await ScratchDatabase.withFreshPool { database in
            _ = try await Self.migrator(database).up(to: 18)
            for (number, account) in Self.accounts.enumerated() {
                try await Self.insert(account, Self.id(number), in: database)
            }
            // What was recorded of nobody, or of an account that is gone, proves nobody's address.
            try await database.execute(
                """
                INSERT INTO audit_events (event_id, type, actor, account_id, created_at)
                VALUES (gen_random_uuid(), 'email_verified', 'person', NULL, '2026-01-01Z'),
                    (gen_random_uuid(), 'email_verified', 'person', gen_random_uuid(), '2026-01-01Z')
                """)
            let before = try await Self.addresses(in: database)
            _ = try await Self.migrator(database).up()
            try await Self.expectDegrees("up", in: database)
            #expect(try await Self.addresses(in: database) == before)
            try await Self.back(database)
            #expect(try await Self.addresses(in: database) == before)
            _ = try await Self.migrator(database).up()
            try await Self.expectDegrees("up again", in: database)
        }
    }

    @Test func `what was found out about an address since is still known after the way back`() async throws {
        try await ScratchDatabase.withFreshPool { database in
            _ = try await Self.migrator(database).up()
            let store = AccountStore(database: database)
            func account(_ number: Int, _ email: String, _ event: String? = nil) async throws -> AccountID {
                let account = OldAccount(
                    email: email, identities: [OldIdentity(provider: .google, email: email)],
                    events: event.map { [$0] } ?? [], proof: nil, source: nil)
                try await Self.insert(account, Self.id(number), in: database)
                return Self.id(number)
            }
            let now = Timestamp(seconds: 1_767_225_600 + 60)
            let address = try #require(EmailAddress("lowered@gmail.com"))
            let lowered = try await account(1, address.text, "email_verified")
            let raised = try await account(2, "raised@gmail.com", "email_stated")
            let proven = ProvenEmail(
                address: try #require(EmailAddress("raised@gmail.com")), proof: .proven, source: .authoritativeProvider)
            try await database.execute("UPDATE accounts SET email_proof = 'proven' WHERE account_id = \(lowered)")
            try await store.lower(address, of: lowered, by: .at(now, from: Self.origin))
            #expect(try await store.raise(proven, of: raised, by: .at(now, from: Self.origin)))
            for time in ["before", "after"] {
                #expect(try await Self.proof(lowered, in: database) == .stated, "\(time)")
                #expect(try await Self.proof(raised, in: database) == .proven, "\(time)")
                #expect(try await Self.source(raised, in: database) == "authoritative_provider", "\(time)")
                guard time == "before" else { return }
                try await Self.back(database)
                _ = try await Self.migrator(database).up()
            }
        }
    }
}
