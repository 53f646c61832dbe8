import Foundation
import TestSupport
import Testing

@testable import Postgres

@Suite(.fixture(Database.self)) struct SQLTests {
    var database: Database { .current }

    @Test func `hostile strings are bound and stay values`() async throws {
        let hostile = [
            "'; DROP TABLE names; --", "\\'; DROP TABLE names; --", "$1", "%s", "' OR '1'='1",
            "\u{ff07}; DROP TABLE names", "E'\\x00'", "/*", "\"names\"", "a' || pg_sleep(9) || '",
        ]
        try await database.execute("CREATE TABLE names (name text)")
        for name in hostile {
            try await database.execute("INSERT INTO names (name) VALUES (\(name))")
            let found = try await database.query("SELECT name FROM names WHERE name = \(name)", as: String.self)
            #expect(found == [name])
        }
        try await expect("SELECT count(*) FROM names", is: hostile.count, in: database)
    }

    @Test func `a spliced statement brings its values and is renumbered`() async throws {
        let inner: SQL = "\(2) + \(30)"
        let middle: SQL = "(\(inner)) * \(10)"
        let rows = try await database.query("SELECT \(1), \(middle), \("x"), \(inner)") {
            row throws(PostgresError) in try row.decode(Int.self, Int.self, String.self, Int.self)
        }
        let row = try #require(rows.first)
        #expect(row == (1, 320, "x", 32))
    }

    @Test func `more than nine values keep their order`() async throws {
        let inner: SQL = "ARRAY[\(1), \(2), \(3), \(4), \(5), \(6), \(7), \(8), \(9), \(10), \(11), \(12)]::int8[]"
        let rows = try await database.query("SELECT \(inner), \(inner), \(13)", as: [Int].self, [Int].self, Int.self)
        #expect(rows.map(\.0) == [Array(1...12)])
        #expect(rows.map(\.1) == [Array(1...12)])
        #expect(rows.map(\.2) == [13])
    }

    @Test func `the rows that a statement touched are counted`() async throws {
        func touch(_ sql: SQL, _ expected: Int) async throws {
            let touched = try await database.execute(sql)
            #expect(touched == expected)
        }
        try await touch("CREATE TABLE t (n int8)", 0)
        try await touch("INSERT INTO t SELECT generate_series(1, 5)", 5)
        try await touch("UPDATE t SET n = n + 1 WHERE n > \(3)", 2)
        try await touch("DELETE FROM t", 5)
        try await touch("", 0)
    }

    @Test func `one statement cannot smuggle in a second one`() async throws {
        await expectFailure(.server(sqlState: "42601")) { try await database.execute("SELECT 1; SELECT 2") }
    }

    @Test func `texts beyond one packet come back whole`() async throws {
        let long = String(repeating: "0123456789abcdef", count: 500_000)
        async let first = database.query("SELECT \(long), 1", as: String.self, Int.self)
        async let second = database.query("SELECT \(long), 2", as: String.self, Int.self)
        let texts = try await [first, second]
        #expect(texts.map { $0.map(\.0) } == [[long], [long]])
        #expect(texts.map { $0.map(\.1) } == [[1], [2]])
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1), $0) })
    func `a prepared statement survives a change of its result type`() async throws {
        try await database.execute("CREATE TABLE t (n int4)")
        try await database.execute("INSERT INTO t VALUES (7)")
        for _ in 0..<3 { try await expect("SELECT n FROM t", is: 7, in: database) }
        try await database.execute("ALTER TABLE t ALTER n TYPE int8")
        for _ in 0..<3 { try await expect("SELECT n FROM t", is: 7, in: database) }
        try await database.execute("DEALLOCATE ALL")
        for _ in 0..<3 { try await expect("SELECT n FROM t", is: 7, in: database) }
    }

    /// As another connection of a pooler has left it on the server's process.
    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1), $0) })
    func `a prepared statement that the server has is executed, and not prepared again`() async throws {
        let key = PreparedKey(text: "SELECT 7", types: [])
        try await database.execute("PREPARE \(unsafeSQL: key.name) AS SELECT 7")
        for _ in 0..<3 { try await expect("SELECT 7", is: 7, in: database) }
        try await expect(
            "SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE from_sql", is: 1, in: database)
    }

    @Test(.noFixture(Database.self))
    func `statements are prepared once per connection, and not at all when that is switched off`() async throws {
        for isPrepared in [true, false] {
            try await ScratchDatabase.withFreshPool(.test(poolSize: 1, preparedStatements: isPrepared)) { database in
                for number in 0..<20 { try await expect("SELECT \(number)", is: number, in: database) }
                let prepared = try await count(
                    "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT $1'", in: database)
                #expect(prepared == (isPrepared ? 1 : 0))
            }
        }
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1), $0) })
    func `texts without end do not fill the server with prepared statements`() async throws {
        for number in 0..<400 {
            for _ in 0..<2 { try await expect("SELECT \(unsafeSQL: "\(number)")", is: number, in: database) }
        }
        #expect(try await count("SELECT count(*) FROM pg_prepared_statements", in: database) <= 256)
    }
}
