import Foundation
import Postgres
import TestSupport
import Testing

private struct Refused: Error, Equatable { let reason: String }

/// Runs a closure with a pool on a database with two rows in a table.
private func withTable(
    poolSize: Int = 4, acquireTimeout: Duration = .seconds(300), _ body: (Database) async throws -> Void
) async throws {
    try await ScratchDatabase.withFreshPool(.test(poolSize: poolSize, acquireTimeout: acquireTimeout)) { database in
        try await database.execute("CREATE TABLE t (id int8 PRIMARY KEY, n int8 NOT NULL)")
        try await database.execute("INSERT INTO t VALUES (1, 0), (2, 0)")
        try await body(database)
    }
}

@Suite(.fixture { try await withTable($0) }, .timeLimit(.minutes(2))) struct TransactionTests {
    var database: Database { .current }

    @Test func `its effects are visible to all once it returned, and to no other session before`() async throws {
        let answer = try await database.transaction { transaction in
            try await transaction.execute("INSERT INTO t VALUES (3, 0)")
            try await expect("SELECT count(*) FROM t", is: 3, in: transaction)
            try await expect("SELECT count(*) FROM t", is: 2, in: database)
            return "done"
        }
        #expect(answer == "done")
        try await expect("SELECT count(*) FROM t", is: 3, in: database)
    }

    @Test(.fixture { try await withTable(poolSize: 1, $0) })
    func `a thrown error passes through and rolls back`() async throws {
        let before = try await backend(of: database)
        await #expect(throws: Refused(reason: "no")) {
            try await database.transaction { transaction in
                try await transaction.execute("DELETE FROM t")
                throw Refused(reason: "no")
            }
        }
        try await expect("SELECT count(*) FROM t", is: 2, in: database)
        #expect(try await backend(of: database) == before)
    }

    @Test(.fixture { try await withTable(poolSize: 1, $0) })
    func `one without statements costs the server nothing`() async throws {
        let pid = try await backend(of: database)
        try await database.transaction { _ in }
        await #expect(throws: Refused.self) { try await database.transaction { _ in throw Refused(reason: "") } }
        try await ScratchDatabase.withFreshPool { other in
            let last = try await other.query("SELECT query FROM pg_stat_activity WHERE pid = \(Int32(pid))") {
                row throws(PostgresError) in try row.decode(String.self)
            }
            #expect(last == ["SELECT pg_backend_pid()"])
        }
    }

    @Test(arguments: [IsolationLevel.readCommitted, .repeatableRead, .serializable])
    func `it has the isolation that was asked for`(_ isolation: IsolationLevel) async throws {
        let levels = try await database.transaction(isolation) { transaction in
            try await transaction.query("SELECT current_setting('transaction_isolation')", as: String.self)
        }
        #expect(levels == [isolation.rawValue.lowercased()])
    }

    /// Nothing runs it again after a serialization failure.
    @Test(.noFixture(Database.self))
    func `a lone statement is read committed, whatever the database and the URL say`() async throws {
        try await ScratchDatabase.withFresh { scratch in
            let name = try await scratch.texts("SELECT quote_ident(current_database())")[0]
            try await scratch.execute(
                "ALTER DATABASE \(unsafeSQL: name) SET default_transaction_isolation = 'serializable'")
            let separator = scratch.url.contains("?") ? "&" : "?"
            for option in ["", separator + "options=-c%20default_transaction_isolation%3Dserializable"] {
                try await ScratchDatabase(url: scratch.url + option).withPool(.test(poolSize: 1)) { database in
                    let levels = try await database.query(
                        "SELECT current_setting('transaction_isolation')", as: String.self)
                    #expect(levels == ["read committed"], "\(option)")
                }
            }
        }
    }

    /// Both read before either writes, so that exactly one of them has to fail; what fails is seen at the statement or
    /// at the commit.
    private func collide(in database: Database, retries: Int) async throws {
        let met = Barrier(of: 2)
        func increment(_ mine: Int, _ other: Int) async throws {
            try await database.transaction(.serializable, retries: retries) { transaction in
                let sum = try await count("SELECT n FROM t WHERE id = \(other)", in: transaction)
                await met.arrive()
                try await transaction.execute("UPDATE t SET n = \(sum + 1) WHERE id = \(mine)")
            }
        }
        async let first: Void = increment(1, 2)
        async let second: Void = increment(2, 1)
        _ = try await (first, second)
    }

    @Test func `a serialization failure is reported as such`() async throws {
        let error = await failure { try await collide(in: database, retries: 0) }
        #expect(error?.isSerializationFailure == true)
    }

    @Test func `a serialization failure is retried when that was asked for`() async throws {
        try await collide(in: database, retries: 20)
        // One after the other, in either order: 1 and then 1 + 1.
        try await expect("SELECT sum(n)::int8 FROM t", is: 3, in: database)
    }

    @Test func `a deadlock is broken, and retried when that was asked for`() async throws {
        let met = Barrier(of: 2)
        let runs = Tally()
        func lockBoth(_ first: Int, _ second: Int) async throws {
            try await database.transaction(retries: 20) { transaction in
                runs.add()
                try await transaction.execute("SET LOCAL deadlock_timeout = '10ms'")
                try await transaction.execute("UPDATE t SET n = n + 1 WHERE id = \(first)")
                await met.arrive()
                try await transaction.execute("UPDATE t SET n = n + 1 WHERE id = \(second)")
            }
        }
        async let one: Void = lockBoth(1, 2)
        async let two: Void = lockBoth(2, 1)
        _ = try await (one, two)
        // One of them loses; on a busy machine both may, and conflict again.
        #expect(runs.count >= 3)
        try await expect("SELECT min(n) + max(n) FROM t", is: 4, in: database)
    }

    @Test func `a retry needs a serialization failure or a deadlock and not just any failure`() async throws {
        let runs = Tally()
        let error = await failure {
            try await database.transaction(retries: 20) { transaction in
                runs.add()
                try await transaction.execute("INSERT INTO t VALUES (1, 0)")
            }
        }
        #expect(error?.isUniqueViolation(of: "t_pkey") == true)
        #expect(runs.count == 1)
    }

    @Test func `a failed statement cannot be swallowed`() async throws {
        await expectFailure(.server(sqlState: "25P02"), of: .commit) {
            try await database.transaction { transaction in
                try await transaction.execute("INSERT INTO t VALUES (3, 0)")
                _ = await failure { try await transaction.execute("INSERT INTO t VALUES (3, 0)") }
            }
        }
        try await expect("SELECT count(*) FROM t", is: 2, in: database)
    }

    @Test(.fixture { try await withTable(poolSize: 1, $0) })
    func `a constraint that fails at the commit is reported with its name`() async throws {
        try await database.execute("ALTER TABLE t ADD CONSTRAINT t_n_key UNIQUE (n, id) DEFERRABLE INITIALLY DEFERRED")
        try await database.execute("ALTER TABLE t DROP CONSTRAINT t_pkey")
        let before = try await backend(of: database)
        let error = await failure {
            try await database.transaction { try await $0.execute("INSERT INTO t VALUES (1, 0)") }
        }
        #expect(error?.operation == .commit)
        #expect(error?.isUniqueViolation(of: "t_n_key") == true)
        #expect(try await backend(of: database) == before)
    }

    @Test func `statements of several tasks share it`() async throws {
        let rows = try await database.transaction { transaction in
            try await concurrently(10..<60) { id -> (Int, Int) in
                let rows = try await transaction.query(
                    "INSERT INTO t VALUES (\(id), \(id)) RETURNING n, pg_backend_pid()",
                    as: Int.self, Int.self)
                return try #require(rows.first)
            }
        }
        #expect(Set(rows.map { $0.1 }).count == 1)
        #expect(rows.map { $0.0 } == Array(10..<60))
        try await expect("SELECT count(*) FROM t", is: 52, in: database)
    }

    @Test func `one within another is separate, on its own connection`() async throws {
        try await database.transaction { outer in
            try await outer.execute("INSERT INTO t VALUES (3, 0)")
            try await database.transaction { inner in
                try await expect("SELECT count(*) FROM t", is: 2, in: inner)
                try await inner.execute("INSERT INTO t VALUES (4, 0)")
            }
            try await expect("SELECT count(*) FROM t", is: 4, in: outer)
        }
    }

    @Test(.fixture { try await withTable(poolSize: 1, acquireTimeout: .seconds(1), $0) })
    func `one within another does not wait for ever when there is only one connection`() async throws {
        await expectFailure(.acquireTimedOut) {
            try await database.transaction { outer in
                try await outer.execute("INSERT INTO t VALUES (3, 0)")
                try await database.transaction { inner in try await inner.execute("INSERT INTO t VALUES (4, 0)") }
            }
        }
        try await expect("SELECT count(*) FROM t", is: 2, in: database)
    }

    @Test func `it is of no use after its closure returned`() async throws {
        let escaped = try await database.transaction { transaction in
            try await transaction.execute("INSERT INTO t VALUES (3, 0)")
            return transaction
        }
        let empty = try await database.transaction { $0 }
        let connection = try await database.withConnection { $0 }
        let sessions: [any PostgresSession] = [escaped, empty, connection]
        for session in sessions { await expectFailure(.closed) { try await session.execute("DELETE FROM t") } }
        try await expect("SELECT count(*) FROM t", is: 3, in: database)
    }
}
