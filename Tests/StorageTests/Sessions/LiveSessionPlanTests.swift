import Accounts
import Postgres
import Storage
import TestSupport
import Testing

/// What is asked of an account's live sessions costs nothing for those that have ended.
@Suite(.timeLimit(.minutes(2))) struct LiveSessionPlanTests {
    /// - Parameter others: how many accounts have two live sessions. With few, nearly all that there is has ended; with many, the
    ///   planner takes a share of the account's for live.
    @Test(arguments: [0, 3_000])
    func `a page of sessions is read without those that have ended`(others: Int) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let now = Timestamp(seconds: 1_767_225_600)
            let (account, session) = try await database.addSession(at: now)
            for statement: SQL in [
                """
                INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at,
                    expires_at, ended_at, end_reason)
                SELECT gen_random_uuid(), \(account), \(now), \(now), '{pwd}', \(now), \(now),
                    \(now) + interval '60 days', \(now), 'signed_out'
                FROM generate_series(1, 20000)
                """,
                """
                INSERT INTO accounts (account_id, created_at)
                SELECT gen_random_uuid(), \(now)
                FROM generate_series(1, \(others))
                """,
                """
                INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at,
                    expires_at)
                SELECT gen_random_uuid(), account_id, \(now), \(now), '{pwd}', \(now), \(now),
                    \(now) + interval '60 days'
                FROM accounts
                CROSS JOIN generate_series(1, 2)
                WHERE account_id <> \(account)
                """,
                "ANALYZE sessions",
            ] { try await database.execute(statement) }
            let page = SessionStore.statement(of: account, before: nil, limit: 200, by: .at(now))
            #expect(try await database.pages(readBy: page) < 20)
            let live = try await SessionStore(database: database).live(of: account, first: session, by: .at(now))
            #expect(live.map(\.id) == [session])
        }
    }
}
