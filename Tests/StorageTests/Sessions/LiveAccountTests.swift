import Accounts
import Postgres
import Storage
import TestSupport
import Testing

/// Looks at sessions and their accounts that share a statement: each has its own answer.
@Suite(.timeLimit(.minutes(2))) struct LiveAccountTests {
    @Test func `of those that come at once each gets its own account, with its identities in their order, or none`()
        async throws
    {
        try await ScratchDatabase.withMigratedPool {
            $0.poolSize = 2
        } _: { database in
            let crowd = try await AccountCrowd.create(64, in: database)
            // Seven has a second identity, older than its first; eight none; nine's session has ended; ten's row is one that
            // this release can't read.
            for statement: SQL in [
                """
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
                VALUES (gen_random_uuid(), \(crowd.id(7) as AccountID), 'apple', 'main', 'second', '2020-01-01')
                """,
                "DELETE FROM identities WHERE account_id = \(crowd.id(8) as AccountID)",
                """
                UPDATE sessions SET ended_at = now(), end_reason = 'signed_out'
                WHERE session_id = \(crowd.id(9) as SessionID)
                """,
                "UPDATE accounts SET email = 'unreadable' WHERE account_id = \(crowd.id(10) as AccountID)",
            ] { try await database.execute(statement) }
            let accounts = LiveAccounts(database: database)
            let now = crowd.time(64)
            // From 64 on there is none, and some come twice.
            let numbers = Array(0..<70) + [7, 8, 9, 10]
            try await concurrently(numbers) { number in
                func find() async throws -> LiveAccount? { try await accounts.find(crowd.id(number), by: .at(now)) }
                switch number {
                case 10: await #expect(throws: PostgresError.self) { try await find() }
                case 9, 64...: #expect(try await find() == nil, "\(number)")
                default:
                    let live = try #require(try await find(), "\(number)")
                    #expect(live.session.id == crowd.id(number) && live.account.id == crowd.id(number))
                    let subjects = live.account.identities.map(\.key.subject.text)
                    let own = ["subject-\(number)"]
                    #expect(subjects == (number == 7 ? ["second"] + own : number == 8 ? [] : own), "\(number)")
                }
            }
        }
    }
}
