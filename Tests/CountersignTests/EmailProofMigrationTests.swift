import Accounts
import Migrator
import Postgres
import Storage
import TestSupport
import Testing

/// Migration 0019, which gives the address of each account that is already there a degree.
@Suite struct EmailProofMigrationTests {
    private static let origin = ChangeOrigin(actor: .person, requestID: nil)

    /// An account as the schema of version 18 can hold it, and what its address is worth.
    private struct OldAccount: Decodable {
        let email: String?
        /// Unless it is said that it isn't.
        var isVerified: Bool?
        /// One per provider.
        var identities: [OldIdentity]?
        /// The types of the account's audit records, in their order.
        var events: [String]?
        var proof: String?
        var source: String?
    }

    private struct OldIdentity: Decodable {
        let provider: String
        let email: String?
        var isVerified: Bool?
        var isPrivate: Bool?
    }

    // MARK: Tools

    private static func migrator(_ database: Database) -> Migrator { Migrator(database: database, logger: .silent) }

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
            VALUES (\(id), \(account.email), \(account.isVerified ?? true), \(now))
            """)
        for identity in account.identities ?? [] {
            try await database.execute(
                """
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
                    is_private_email, created_at)
                VALUES (gen_random_uuid(), \(id), \(identity.provider), 'main', gen_random_uuid()::text,
                    \(identity.email), \(identity.isVerified ?? true), \(identity.isPrivate ?? false), \(now))
                """)
        }
        for (number, type) in (account.events ?? []).enumerated() {
            try await database.execute(
                """
                INSERT INTO audit_events (event_id, type, actor, account_id, created_at)
                VALUES (gen_random_uuid(), \(type), 'person', \(id), \(now.advanced(bySeconds: Int64(number))))
                """)
        }
    }

    /// The degree of an account's address, and what it rests on.
    private static func degree(of id: AccountID, in database: Database) async throws -> [String?] {
        let account = try #require(try await AccountStore(database: database).account(id))
        let sources = try await database.texts("SELECT email_proof_source FROM accounts WHERE account_id = \(id)")
        return [account.emailProof?.rawValue] + sources
    }

    /// What the release before knows of the addresses.
    private static func addresses(in database: Database) async throws -> [String?] {
        try await database.texts(
            "SELECT concat_ws(' ', account_id, email, email_verified) FROM accounts ORDER BY account_id")
    }

    // MARK: Degrees

    @Test func `each address has the degree that its account's history shows, also after the way back`() async throws {
        let groups = try DataFile("EmailProofMigration.json").decoded(as: [String: [OldAccount]].self)
        let accounts = groups.flatMap(\.value)
        #expect(accounts.count == 22)
        func expectDegrees(_ time: String, in database: Database) async throws {
            for (number, account) in accounts.enumerated() {
                let degree = try await Self.degree(of: Self.id(number), in: database)
                #expect(degree == [account.proof, account.source], "\(account.email ?? "no address"), \(time)")
            }
        }
        try await ScratchDatabase.withFreshPool { database in
            _ = try await Self.migrator(database).up(to: 18)
            for (number, account) in accounts.enumerated() {
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
            try await expectDegrees("up", in: database)
            #expect(try await Self.addresses(in: database) == before)
            try await Self.back(database)
            #expect(try await Self.addresses(in: database) == before)
            _ = try await Self.migrator(database).up()
            try await expectDegrees("up again", in: database)
        }
    }

    @Test func `what was found out about an address since is still known after the way back`() async throws {
        try await ScratchDatabase.withFreshPool { database in
            _ = try await Self.migrator(database).up()
            let store = AccountStore(database: database)
            func account(_ number: Int, _ email: String, _ event: String? = nil) async throws -> AccountID {
                let account = OldAccount(
                    email: email, identities: [OldIdentity(provider: "google", email: email)],
                    events: event.map { [$0] })
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
                #expect(try await Self.degree(of: lowered, in: database).first == "stated", "\(time)")
                let degree = try await Self.degree(of: raised, in: database)
                #expect(degree == ["proven", "authoritative_provider"], "\(time)")
                guard time == "before" else { return }
                try await Self.back(database)
                _ = try await Self.migrator(database).up()
            }
        }
    }
}
