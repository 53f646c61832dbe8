import Postgres
import TestSupport
import Testing

/// A prepared statement has one plan, unless it asks for one each time. By itself the server would plan the first five
/// executions for their values, and then compare.
@Suite(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1), $0) }, .timeLimit(.minutes(2)))
struct PlanTests {
    var database: Database { .current }

    private struct Plans: Equatable {
        let once: Int
        let eachTime: Int
    }

    /// The plans by which the prepared statements of this text were executed.
    private func plans(of pattern: String, in session: some PostgresSession) async throws -> Plans {
        let rows = try await session.query(
            """
            SELECT COALESCE(sum(generic_plans), 0)::int8, COALESCE(sum(custom_plans), 0)::int8
            FROM pg_prepared_statements
            WHERE statement LIKE \(pattern)
            """, as: Int.self, Int.self)
        let (once, eachTime) = try #require(rows.first)
        return Plans(once: once, eachTime: eachTime)
    }

    @Test func `a prepared statement is planned once`() async throws {
        for number in 0..<8 { try await expect("SELECT \(number)", is: number, in: database) }
        // The first was not prepared.
        #expect(try await plans(of: "SELECT $1", in: database) == Plans(once: 7, eachTime: 0))
    }

    @Test func `a statement that asks for it is planned each time, and no other one is`() async throws {
        for number in 0..<8 {
            try await Database.planningEachTime {
                try await expect("SELECT \(number) + 1", is: number + 1, in: database)
            }
            try await expect("SELECT \(number) + 2", is: number + 2, in: database)
        }
        #expect(try await plans(of: "SELECT $1 + 1", in: database) == Plans(once: 0, eachTime: 7))
        #expect(try await plans(of: "SELECT $1 + 2", in: database) == Plans(once: 7, eachTime: 0))
    }

    @Test func `in a transaction the rest is planned each time too, and behind it nothing`() async throws {
        for number in 0..<8 {
            try await database.transaction { transaction in
                try await Database.planningEachTime {
                    try await expect("SELECT \(number) + 1", is: number + 1, in: transaction)
                }
                try await expect("SELECT \(number) + 2", is: number + 2, in: transaction)
            }
            try await expect("SELECT \(number) + 3", is: number + 3, in: database)
        }
        for text in ["SELECT $1 + 1", "SELECT $1 + 2"] {
            #expect(try await plans(of: text, in: database) == Plans(once: 0, eachTime: 7), "\(text)")
        }
        #expect(try await plans(of: "SELECT $1 + 3", in: database) == Plans(once: 7, eachTime: 0))
    }

    @Test func `a statement that fails while it asks for it leaves the connection as it was`() async throws {
        let before = try await backend(of: database)
        for _ in 0..<3 {
            await expectFailure(.server(sqlState: "22012")) {
                try await Database.planningEachTime { try await database.execute("SELECT 1 / \(0)") }
            }
        }
        for number in 0..<8 { try await expect("SELECT \(number)", is: number, in: database) }
        #expect(try await plans(of: "SELECT $1", in: database) == Plans(once: 7, eachTime: 0))
        #expect(try await backend(of: database) == before)
    }

    @Test func `no plan is compiled, however costly`() async throws {
        try await database.execute("SET jit_above_cost = 0")
        let plan = try await database.query("EXPLAIN (ANALYZE) SELECT sum(n) FROM generate_series(1, 10) n") {
            row throws(PostgresError) in try row.decode(String.self)
        }
        #expect(!plan.isEmpty && !plan.contains { $0.contains("JIT") }, "\(plan)")
        try await expect("SELECT (current_setting('jit') = 'off')::int", is: 1, in: database)
    }

    @Test(.noFixture(Database.self)) func `the URL's own options come behind ours and win`() async throws {
        try await ScratchDatabase.withFresh { scratch in
            let separator = scratch.url.contains("?") ? "&" : "?"
            let url = scratch.url + separator + "options=-c%20plan_cache_mode%3Dauto%20-c%20jit%3Don"
            try await ScratchDatabase(url: url).withPool(.test(poolSize: 1)) { database in
                try await expect("SELECT (current_setting('plan_cache_mode') = 'auto')::int", is: 1, in: database)
                try await expect("SELECT (current_setting('jit') = 'on')::int", is: 1, in: database)
            }
        }
    }
}
