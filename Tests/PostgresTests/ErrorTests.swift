import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct ErrorTests {
    var database: Database { .current }
    var scratch: ScratchDatabase { .current }

    private let secret = "c4nary-value"

    /// Every way in which a server's words could carry a bound value into a log.
    @Test(.fixture(Database.self)) func `no error shows a bound value`() async throws {
        try await database.execute("CREATE TABLE t (name text CONSTRAINT t_name_key UNIQUE CHECK (name <> 'bad'))")
        try await database.execute("INSERT INTO t VALUES (\(secret))")
        let statements: [(SQL, String)] = [
            ("INSERT INTO t VALUES (\(secret))", "23505"),
            ("SELECT (\(secret)::text)::int8", "22P02"),
            ("SELECT (\(secret)::text)::uuid", "22P02"),
            ("SELECT CASE WHEN true THEN 1 / (length(\(secret)) - 12) END", "22012"),
            ("INSERT INTO missing VALUES (\(secret))", "42P01"),
        ]
        for (sql, state) in statements {
            let error = await failure { try await database.execute(sql) }
            let shown = try #require(error)
            #expect(shown.code == .server(sqlState: state))
            #expect(shown.description == "The database could not do what it was asked.")
            #expect("\(shown)" == shown.description)
            #expect(!shown.debugDescription.contains(secret))
            #expect(shown.debugDescription.contains(state))
            #expect(shown.debugDescription.contains("ErrorTests.swift:"))
        }
    }

    @Test(.fixture(Database.self)) func `no error that ends the connection shows a bound value`() async throws {
        let error = await failure {
            try await database.withConnection { connection in
                try await connection.execute("SET exit_on_error = on")
                try await connection.execute("SELECT (\(secret)::text)::uuid")
            }
        }
        let shown = try #require(error)
        #expect(shown.code == .connectionLost && shown.sqlState == "22P02")
        #expect(!shown.debugDescription.contains(secret), "\(shown.debugDescription)")
    }

    @Test(.fixture(Database.self)) func `a violated constraint is named`() async throws {
        try await database.execute(
            "CREATE TABLE t (n int8 CONSTRAINT t_n_key UNIQUE, m int8 CONSTRAINT m_small CHECK (m < 9))")
        try await database.execute("INSERT INTO t VALUES (1, 1)")
        let duplicate = await failure { try await database.execute("INSERT INTO t VALUES (\(1), \(1))") }
        #expect(duplicate?.isUniqueViolation(of: "t_n_key") == true)
        #expect(duplicate?.isUniqueViolation(of: "m_small") == false)
        #expect(duplicate?.table == "t")
        let large = await failure { try await database.execute("INSERT INTO t VALUES (\(2), \(10))") }
        #expect(large?.code == .server(sqlState: "23514"))
        #expect(large?.constraint == "m_small")
    }

    @Test(.fixture(Database.self))
    func `a constraint that is checked at the commit of a lone statement is reported`() async throws {
        try await database.execute("CREATE TABLE t (n int8 CONSTRAINT t_n_key UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        try await database.execute("INSERT INTO t VALUES (1)")
        let error = await failure { try await database.execute("INSERT INTO t VALUES (\(1))") }
        #expect(error?.isUniqueViolation(of: "t_n_key") == true)
        try await expect("SELECT count(*) FROM t", is: 1, in: database)
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1), $0) })
    func `COPY is refused and does not block the pool`() async throws {
        for sql: SQL in ["COPY (SELECT 1) TO STDOUT", "COPY pg_class FROM STDIN"] {
            let error = await failure { try await database.execute(sql) }
            #expect(error?.code == .protocolViolation || error?.sqlState != nil)
            try await expect("SELECT 1", is: 1, in: database)
        }
        _ = await failure {
            try await database.withConnection { try await $0.executeScript(unsafeSQL: "COPY pg_class FROM STDIN") }
        }
        try await expect("SELECT 1", is: 1, in: database)
    }

    @Test func `notices reach the log at debug level`() async throws {
        let log = RecordingLog()
        try await ScratchDatabase.withFresh { scratch in
            var configuration = Database.Configuration.test()
            configuration.url = scratch.url
            let database = Database(configuration: configuration, logger: log.logger)
            try await database.withConnection { connection in
                try await connection.executeScript(
                    unsafeSQL: "DO $$ BEGIN RAISE NOTICE 'hear me'; END $$; DROP TABLE IF EXISTS nowhere;")
            }
            await database.shutdown()
        }
        let notices = ["hear me", "table \"nowhere\" does not exist, skipping"]
        #expect(
            log.lines.map { $0.split(separator: " severity=")[0] }
                == notices.map { "debug database notice received notice=\($0)" })
    }

    @Test func `a database that is not UTF8 is recognised`() async throws {
        for encoding in ["LATIN1", "SQL_ASCII"] {
            try await ScratchDatabase.withFresh(encoding: encoding) { scratch in
                try await scratch.withPool { database in
                    await expectFailure(.serverEncoding(encoding)) { try await database.requireUTF8() }
                }
            }
        }
        try await ScratchDatabase.withFreshPool { try await $0.requireUTF8() }
    }

    @Test(.fixture { try await ScratchDatabase.withFresh(encoding: "LATIN1", $0) })
    func `a text that a LATIN1 database cannot hold is refused, not changed`() async throws {
        try await scratch.withPool { database in
            await expectFailure(.server(sqlState: "22P05")) { try await database.execute("SELECT \("π")") }
            let echo = try await database.query("SELECT \("é")", as: String.self)
            #expect(echo == ["é"])
        }
    }

    @Test(.fixture { try await ScratchDatabase.withFresh(encoding: "SQL_ASCII", $0) })
    func `bytes that are not UTF-8 do not come out of a database without an encoding`() async throws {
        try await scratch.withPool { database in
            await expectFailure(.server(sqlState: "22021")) {
                try await database.execute("SELECT convert_from('\\xff'::bytea, 'SQL_ASCII')")
            }
        }
    }

    @Test func `a temporary failure is distinguished from a permanent one`() {
        func error(_ code: PostgresError.Code) -> PostgresError { PostgresError(code, operation: .query, location: "") }
        for code: PostgresError.Code in [
            .connectionLost, .connectFailed, .acquireTimedOut, .writesHeld, .queueFull,
            .server(sqlState: "08006"),
            .server(sqlState: "57P01"), .server(sqlState: "57P03"), .server(sqlState: "53300"),
            .server(sqlState: "25006"), .server(sqlState: "40001"), .server(sqlState: "40P01"),
            .server(sqlState: "55P03"), .server(sqlState: "57014"), .cancelled, .closed, .outcomeUnknown,
        ] { #expect(error(code).isTemporary, "\(code)") }
        for code: PostgresError.Code in [
            .encoding, .decoding, .serverEncoding("LATIN1"), .protocolViolation, .server(sqlState: "23505"),
            .server(sqlState: "42601"),
        ] { #expect(!error(code).isTemporary, "\(code)") }
        #expect(error(.server(sqlState: "40001")).isSerializationFailure)
        #expect(error(.server(sqlState: "40P01")).isSerializationFailure)
        #expect(!error(.server(sqlState: "40003")).isSerializationFailure)
    }
}
