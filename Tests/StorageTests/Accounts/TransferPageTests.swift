import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// The pages of people whose app moves to another team of Apple's.
@Suite(.timeLimit(.minutes(2))) struct TransferPageTests {
    private static let team = "RECIPIENT1"

    private static func id(_ number: Int) throws -> IdentityID {
        let digits = String(number, radix: 16)
        let zeros = String(repeating: "0", count: 12 - digits.count)
        return try #require(IdentityID("00000000-0000-7000-8000-\(zeros)\(digits)"))
    }

    @Test func `a page behind thirty thousand people is read without them`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            for statement in [
                """
                INSERT INTO accounts (account_id, created_at)
                SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, now()
                FROM generate_series(1, 30000) number
                """,
                """
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
                SELECT account_id, account_id, 'apple', 'main', account_id, now()
                FROM accounts
                """,
                """
                INSERT INTO identity_transfers (transfer_subject, identity_id, target_team, created_at)
                SELECT identity_id, identity_id, \(Self.team), now()
                FROM identities
                ORDER BY identity_id
                LIMIT 29900
                """,
                "ANALYZE accounts, identities, identity_transfers",
            ] as [SQL] { try await database.execute(statement) }
            let store = TransferStore(database: database)
            let last = try Self.id(29_800)
            let missing = try await store.withoutTransferSubject(
                realm: .main, targetTeam: Self.team, after: last, limit: 100)
            #expect(try missing.map(\.identityID) == (29_901...30_000).map(Self.id))
            let awaiting = try await store.awaitingSubject(targetTeam: Self.team, after: last, limit: 100)
            #expect(try awaiting.map(\.identityID) == (29_801...29_900).map(Self.id))
            for page in [
                TransferStore.missing(realm: .main, targetTeam: Self.team, after: last, limit: 100),
                TransferStore.awaiting(targetTeam: Self.team, after: last, limit: 100),
            ] { #expect(try await database.pages(readBy: page) < 50) }
        }
    }
}
