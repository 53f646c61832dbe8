import Postgres
import TestSupport
import Testing

@Suite(.fixture(Database.self), .timeLimit(.minutes(2))) struct LeasedConnectionTests {
    var database: Database { .current }

    @Test func `a script of several statements runs as one transaction`() async throws {
        try await database.withConnection { connection in
            try await connection.executeScript(
                unsafeSQL: """
                    -- A comment; and 'a string; with semicolons'.
                    CREATE TABLE t (n int8);
                    INSERT INTO t VALUES (1); INSERT INTO t SELECT n + 1 FROM t;
                    CREATE FUNCTION f() RETURNS int8 LANGUAGE sql AS $$ SELECT 1; SELECT max(n) FROM t; $$;
                    """)
            try await expect("SELECT f()", is: 2, in: connection)
            await expectFailure(.server(sqlState: "22012"), of: .script) {
                try await connection.executeScript(unsafeSQL: "INSERT INTO t VALUES (3); SELECT 1 / 0;")
            }
            try await expect("SELECT count(*) FROM t", is: 2, in: connection)
        }
    }

    @Test func `what must not run in a transaction runs`() async throws {
        try await database.execute("CREATE TABLE t (n int8)")
        try await database.withConnection { connection in
            try await connection.executeScript(unsafeSQL: "CREATE INDEX CONCURRENTLY t_n ON t (n)")
            try await connection.execute("CREATE INDEX CONCURRENTLY t_m ON t ((n + 1))")
            try await connection.execute("VACUUM t")
        }
        let valid: SQL = "SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass AND indisvalid"
        try await expect(valid, is: 2, in: database)
        _ = await failure {
            try await database.transaction { try await $0.execute("CREATE INDEX CONCURRENTLY t_o ON t (n)") }
        }
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1), $0) })
    func `its session is its own and ends with it`() async throws {
        let before = try await backend(of: database)
        try await database.withConnection { connection in
            #expect(try await backend(of: connection) == before)
            try await connection.executeScript(unsafeSQL: "SET search_path TO pg_temp; BEGIN; LOCK TABLE pg_class")
            try await connection.execute("SELECT pg_advisory_lock(7)")
            #expect(try await backend(of: connection) == before)
        }
        #expect(try await backend(of: database) != before)
        let path = try await database.query("SELECT current_setting('search_path')", as: String.self)
        #expect(path == [#""$user", public"#])
    }
}
