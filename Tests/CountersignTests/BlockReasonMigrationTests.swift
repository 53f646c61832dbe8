import Accounts
import Migrator
import Postgres
import Storage
import TestSupport
import Testing

/// Identities that were blocked before migration 0025, and those that a process of the release before goes on to block.
@Suite struct BlockReasonMigrationTests {
    private static let now = Timestamp(seconds: 1_767_225_600)

    /// Writes an account with an identity as a process of the release before did.
    private static func insert(_ subject: String, blockedAt: Timestamp?, in database: Database) async throws {
        try await database.execute(
            """
            WITH account AS (
                INSERT INTO accounts (account_id, created_at) VALUES (gen_random_uuid(), \(now)) RETURNING account_id
            )
            INSERT INTO identities (identity_id, account_id, provider, realm, subject, email_verified,
                is_private_email, created_at, blocked_at)
            SELECT gen_random_uuid(), account_id, 'google', 'main', \(subject), false, false, \(now), \(blockedAt)
            FROM account
            """)
    }

    private static func insertEvent(
        _ id: String, of subject: String, detail: String?, at time: Timestamp, in database: Database
    ) async throws {
        try await database.execute(
            """
            INSERT INTO provider_events (event_id, provider, jti, position, type, kind, realm, subject, detail,
                occurred_at, received_at, status, processed_at)
            VALUES (gen_random_uuid(), 'google', \(id), 0, 'a', 'account-disabled', 'main', \(subject), \(detail),
                \(time), \(time), 'done', \(time))
            """)
    }

    private static func block(of subject: String, in database: Database) async throws -> Identity.Block? {
        let owners = try await database.query(
            "SELECT account_id FROM identities WHERE subject = \(subject)", as: AccountID.self)
        let account = try await AccountStore(database: database).account(try #require(owners.first))
        return try #require(account?.identities.first).block
    }

    @Test func `a block from before has the reason of its event, and without one the kind of it`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let migrator = Migrator(database: database, logger: .silent)
            _ = try await migrator.down(steps: Migration.embedded.count { $0.version > 24 })
            let earlier = Self.now.advanced(bySeconds: -60)
            for subject in ["bulk", "silent", "forgotten"] {
                try await Self.insert(subject, blockedAt: Self.now, in: database)
            }
            try await Self.insert("free", blockedAt: nil, in: database)
            try await Self.insertEvent("e1", of: "bulk", detail: "bulk-account", at: Self.now, in: database)
            try await Self.insertEvent("e2", of: "bulk", detail: "earlier", at: earlier, in: database)
            try await Self.insertEvent("e3", of: "silent", detail: nil, at: Self.now, in: database)
            try await Self.insertEvent("e4", of: "free", detail: "bulk-account", at: Self.now, in: database)
            _ = try await migrator.up()
            try await Self.insert("later", blockedAt: Self.now, in: database)

            #expect(
                try await Self.block(of: "bulk", in: database)
                    == Identity.Block(since: Self.now, reason: "bulk-account"))
            for subject in ["silent", "forgotten", "later"] {
                #expect(
                    try await Self.block(of: subject, in: database)
                        == Identity.Block(since: Self.now, reason: "account-disabled"), "\(subject)")
            }
            #expect(try await Self.block(of: "free", in: database) == nil)
        }
    }
}
