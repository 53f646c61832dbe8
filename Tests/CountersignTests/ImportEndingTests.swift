import Foundation
import Postgres
import TestSupport
import Testing

/// Runs of `countersign import` that end before their source does.
@Suite(.fixture(ScratchDatabase.self), .timeLimit(.minutes(15))) struct ImportEndingTests {
    var scratch: ScratchDatabase { .current }

    private static let rows = rows(1_200)

    private static func rows(_ count: Int) -> [String] {
        (0..<count).map {
            #"{"externalId":"u\#($0)","email":"u\#($0)@example.com","identities":[{"provider":"google","subject":"\#($0)"}]}"#
                + "\n"
        }
    }

    private static func count(_ table: SQL, _ scratch: ScratchDatabase) async throws -> Int {
        Int(try await scratch.count("SELECT count(*) FROM \(table)"))
    }

    /// A run whose first batch is in, and which waits for more in the end.
    private static func begun(_ scratch: ScratchDatabase) async throws -> ImportUnderWay {
        let run = try ImportUnderWay(scratch)
        try run.write(rows[..<600])
        try await run.wait { try await count("accounts", scratch) > 0 }
        return run
    }

    private static func ends(_ scratch: ScratchDatabase) async throws -> [String] {
        try await scratch.texts(
            """
            SELECT concat_ws(' ', type, reason) FROM audit_events
            WHERE type IN ('accounts_imported', 'import_undone')
            ORDER BY created_at, type
            """)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a run that is stopped ends behind its batch, and the next one goes on`(_ signal: Int32) async throws {
        let run = try await Self.begun(scratch)
        kill(run.process.processIdentifier, signal)
        let (report, notices) = try await run.end()
        #expect(run.process.terminationStatus == 1)
        #expect(notices.contains("run the same command again"), "\(notices)")
        #expect(try await Self.count("accounts", scratch) == report.count)
        #expect(try await Self.ends(scratch).last?.hasSuffix("created \(report.count); stopped") == true)
        let stopped = try await ImportCommandTests.run(["show", "ndjson"], scratch)
        #expect(stopped.output.contains(#""state":"stopped""#), "\(stopped.output)")
        #expect(stopped.output.contains(#""counts":{"created":\#(report.count),"#), "\(stopped.output)")
        let rest = try await ImportCommandTests.run(["ndjson", "-"], scratch, input: Self.rows.joined()).ended()
        #expect(try ImportCommandTests.lines(rest.output).count { $0.outcome == "created" } == 1_200 - report.count)
        let finished = try await ImportCommandTests.run(["show", "ndjson"], scratch)
        #expect(finished.output.contains(#""state":"finished""#), "\(finished.output)")
    }

    /// A source in a pipe: its rows, and a row that is never whole.
    enum Piped: String, CaseIterable, Sendable {
        case ndjson, firebase, firebaseCSV

        var word: String { self == .ndjson ? "ndjson" : "firebase" }
        var head: String { self == .firebase ? #"{"users":["# : "" }

        func row(_ number: Int) -> String {
            let (id, email) = ("u\(number)", "u\(number)@example.com")
            return switch self {
            case .ndjson: #"{"externalId":"\#(id)","email":"\#(email)"}"# + "\n"
            case .firebase: #"{"localId":"\#(id)","email":"\#(email)"},"# + "\n"
            case .firebaseCSV: "\(id),\(email)," + String(repeating: ",", count: 50) + "\n"
            }
        }

        /// More than a pipe holds: who has written it knows that what is before it is being read.
        var half: String {
            let name = String(repeating: "x", count: 200_000)
            return switch self {
            case .ndjson: #"{"externalId":"half","displayName":"\#(name)"#
            case .firebase: #"{"localId":"half","displayName":"\#(name)"#
            case .firebaseCSV: "half," + name
            }
        }
    }

    @Test(arguments: Piped.allCases)
    func `a run that is stopped while its source waits writes the rows that are whole, and no other`(
        _ source: Piped
    ) async throws {
        let run = try ImportUnderWay(scratch, [source.word, "-"])
        // Just the first batch, so that what comes then is read within the second.
        try run.write([source.head] + (0..<50).map(source.row))
        try await run.wait { try await Self.count("accounts", scratch) > 0 }
        try run.write((50..<80).map(source.row) + [source.half])
        kill(run.process.processIdentifier, SIGTERM)
        let (report, notices) = try await run.end()
        #expect(run.process.terminationStatus == 1)
        #expect(notices.contains("run the same command again"), "\(notices)")
        #expect(report.count == 80 && report.allSatisfy { $0.outcome == "created" })
        #expect(try await Self.count("accounts", scratch) == 80)
        #expect(try await Self.ends(scratch) == ["accounts_imported \(source.word): created 80; stopped"])
    }

    @Test(arguments: Piped.allCases)
    func `a run that is stopped before anything has come is a stopped one, too`(_ source: Piped) async throws {
        let run = try ImportUnderWay(scratch, [source.word, "-"])
        try await run.wait { try await Self.count("imports", scratch) > 0 }
        kill(run.process.processIdentifier, SIGTERM)
        let (report, notices) = try await run.end()
        #expect(run.process.terminationStatus == 1 && report.isEmpty)
        #expect(notices.contains("run the same command again"), "\(notices)")
        let ends = try await Self.ends(scratch)
        #expect(ends.count == 1 && ends.last?.hasSuffix("; stopped") == true, "\(ends)")
    }

    /// Runs the body while an undo of more than one page waits at the second one, for one of the accounts there.
    private static func withUndo<Result: Sendable>(
        atItsSecondPageIn scratch: ScratchDatabase, _ body: @Sendable (ImportUnderWay) async throws -> Result
    ) async throws -> Result {
        try await scratch.withPool(.test(poolSize: 1)) { database in
            try await database.withConnection { connection in
                try await connection.execute("BEGIN")
                try await connection.execute(
                    """
                    SELECT FROM accounts WHERE account_id = (
                        SELECT account_id FROM imported_rows ORDER BY external_id_digest OFFSET 600 LIMIT 1)
                    FOR UPDATE
                    """)
                let undo = try ImportUnderWay(scratch, ["undo", "ndjson"])
                try await undo.awaitBlocked(by: connection)
                let result = try await body(undo)
                try await connection.execute("ROLLBACK")
                return result
            }
        }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `an undo that is stopped ends behind its page, and the next one takes back the rest`(_ signal: Int32)
        async throws
    {
        _ = try await ImportCommandTests.run(["ndjson", "-"], scratch, input: Self.rows(3_000).joined())
        let undo = try await Self.withUndo(atItsSecondPageIn: scratch) { undo in
            kill(undo.process.processIdentifier, signal)
            return undo
        }
        let (kept, notices) = try await undo.end()
        #expect(undo.process.terminationStatus == 1 && kept.isEmpty, "\(notices)")
        // It takes a moment to hear of the signal: of six pages some are left.
        let left = try await Self.count("accounts", scratch)
        #expect((1...2_000).contains(left) && left.isMultiple(of: 500))
        let shown = try await ImportCommandTests.run(["show", "ndjson"], scratch)
        for part in [#""state":"stopped""#, #""accounts":\#(left)"#] {
            #expect(shown.output.contains(part), "\(shown.output)")
        }
        try await ImportCommandTests.run(["undo", "ndjson"], scratch).ended()
        #expect(
            try await Self.ends(scratch).suffix(2) == [
                "import_undone ndjson: \(3_000 - left) removed, 0 kept; stopped",
                "import_undone ndjson: \(left) removed, 0 kept",
            ])
    }

    @Test func `an undo that removes nothing keeps the counts of the run, and not how that ended`() async throws {
        _ = try await ImportCommandTests.run(["ndjson", "-"], scratch, input: Self.rows.joined())
        try await scratch.execute(
            "UPDATE imported_rows SET is_touched = true",
            "UPDATE imports SET outcomes = outcomes || '{end:stopped}', outcome_counts = outcome_counts || '{1}'")
        _ = try await ImportCommandTests.run(["undo", "ndjson"], scratch).ended(1)
        let shown = try await ImportCommandTests.run(["show", "ndjson"], scratch).output
        for part in [#""state":"finished""#, #""counts":{"created":\#(Self.rows.count),"#] {
            #expect(shown.contains(part), "\(shown)")
        }
    }

    /// Standard output as a shell and a reader leave it: on a full disk, or read no more.
    @Test(arguments: [
        (
            ["/bin/sh", "-c", "exec \"$0\" \"$@\" >/dev/full"],
            "countersign: Standard output can't be written: No space left on device.\n"
        ),
        (
            [
                "/usr/bin/python3", "-c",
                """
                import os, signal, sys
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                read, write = os.pipe()
                os.dup2(write, 1)
                os.close(read)
                os.execv(sys.argv[1], sys.argv[1:])
                """,
            ], ""
        ),
    ])
    func `an undo that can't say what it keeps ends behind its page, and the next one takes back the rest`(
        _ launcher: [String], _ said: String
    ) async throws {
        _ = try await ImportCommandTests.run(["ndjson", "-"], scratch, input: Self.rows.joined())
        try await scratch.execute(
            """
            UPDATE imported_rows SET is_touched = true
            WHERE account_id IN (SELECT account_id FROM imported_rows ORDER BY external_id_digest LIMIT 10)
            """)
        let words = try launcher.dropFirst() + [CountersignProcess.executable.path, "import", "undo", "ndjson"]
        let undo = try await FinishedProcess.run(
            URL(filePath: launcher[0]), Array(words), environment: ImportCommandTests.environment(scratch)
        ).ended(1)
        #expect(undo.errors == "countersign: ndjson: 490 removed, 10 kept; stopped\n" + said)
        #expect(try await Self.count("accounts", scratch) == 710)
        #expect(try await ImportCommandTests.run(["list"], scratch).output.contains(#""state":"stopped""#))
        let rest = try await ImportCommandTests.run(["undo", "ndjson"], scratch).ended(1)
        #expect(rest.lines.count == 10)
        #expect(try await ImportCommandTests.run(["list"], scratch).output.contains(#""state":"finished""#))
        #expect(
            try await Self.ends(scratch).suffix(2) == [
                "import_undone ndjson: 490 removed, 10 kept; stopped", "import_undone ndjson: 700 removed, 10 kept",
            ])
    }

    @Test func `of an undo that is killed whole pages are undone, and the next one records them`() async throws {
        _ = try await ImportCommandTests.run(["ndjson", "-"], scratch, input: Self.rows(1_200).joined())
        try await Self.withUndo(atItsSecondPageIn: scratch) { undo in
            let shown = try await ImportCommandTests.run(["show", "ndjson"], scratch)
            #expect(shown.output.contains(#""state":"under_way""#), "\(shown.output)")
            kill(undo.process.processIdentifier, SIGKILL)
            await FinishedProcess.onThread { undo.process.waitUntilExit() }
        }
        try await scratch.withPool(.test(poolSize: 1)) { database in
            try await database.withConnection { connection in
                while try await ImportUnderWay.isTrue("EXISTS (\(Self.others))", connection) {
                    try await pollingPause()
                }
            }
        }
        #expect(try await Self.count("accounts", scratch) == 700)
        #expect(try await Self.ends(scratch) == ["accounts_imported ndjson: created 1200"])
        let shown = try await ImportCommandTests.run(["show", "ndjson"], scratch)
        for part in [#""state":"cut_off""#, #""accounts":700"#, #""counts":{"undone":500}"#] {
            #expect(shown.output.contains(part), "\(shown.output)")
        }
        try await ImportCommandTests.run(["undo", "ndjson"], scratch).ended()
        #expect(
            try await Self.ends(scratch).dropFirst() == [
                "import_undone ndjson: cut off, with 500 removed", "import_undone ndjson: 700 removed, 0 kept",
            ])
    }

    @Test func `of a run that is killed whole batches stay, and the next one goes on and records it`() async throws {
        let run = try await Self.begun(scratch)
        let shown = try await ImportCommandTests.run(["show", "ndjson"], scratch)
        #expect(shown.output.contains(#""state":"under_way""#), "\(shown.output)")
        kill(run.process.processIdentifier, SIGKILL)
        await FinishedProcess.onThread { run.process.waitUntilExit() }
        #expect(run.process.terminationReason == .uncaughtSignal)
        // The server lets go of the lock when it sees that the connection has ended.
        var list = ""
        repeat {
            try await pollingPause()
            list = try await ImportCommandTests.run(["list"], scratch).output
        } while list.contains(#""state":"under_way""#)
        #expect(list.contains(#""state":"cut_off""#), "\(list)")
        let accounts = try await Self.count("accounts", scratch)
        #expect((1...600).contains(accounts))
        for table in ["identities", "imported_rows"] as [SQL] {
            #expect(try await Self.count(table, scratch) == accounts)
        }
        #expect(try await Self.ends(scratch) == [])

        let rest = try await ImportCommandTests.run(["ndjson", "-"], scratch, input: Self.rows.joined()).ended()
        let outcomes = try ImportCommandTests.lines(rest.output).map(\.outcome)
        #expect(outcomes.prefix(accounts).allSatisfy { $0 == "unchanged" })
        #expect(outcomes.dropFirst(accounts).allSatisfy { $0 == "created" })
        #expect(
            try await Self.ends(scratch) == [
                "accounts_imported ndjson: cut off, with \(accounts) rows in",
                "accounts_imported ndjson: created \(1_200 - accounts), unchanged \(accounts)",
            ])
    }

    @Test func `a run that is killed within a batch leaves nothing of it, and an undo takes back the others`()
        async throws
    {
        let run = try await Self.begun(scratch)
        let accounts = try await scratch.withPool(.test(poolSize: 1)) { database in
            try await database.withConnection { connection in
                // A later batch waits for one of its addresses.
                try await connection.execute("BEGIN")
                try await connection.execute(
                    """
                    INSERT INTO accounts (account_id, email, created_at)
                    VALUES (gen_random_uuid(), 'u700@example.com', now())
                    """)
                try run.write(Self.rows[600...])
                try await run.awaitBlocked(by: connection)
                kill(run.process.processIdentifier, SIGKILL)
                await FinishedProcess.onThread { run.process.waitUntilExit() }
                try await connection.execute("ROLLBACK")
                // The server sees that nobody is there when it answers.
                while try await ImportUnderWay.isTrue("EXISTS (\(Self.others))", connection) {
                    try await pollingPause()
                }
            }
            return try await Self.count("accounts", scratch)
        }
        #expect((1..<1_200).contains(accounts))
        for table in ["identities", "imported_rows"] as [SQL] {
            #expect(try await Self.count(table, scratch) == accounts)
        }
        try await ImportCommandTests.run(["undo", "ndjson"], scratch).ended()
        for table in ["accounts", "identities", "imported_rows", "imports"] as [SQL] {
            #expect(try await Self.count(table, scratch) == 0)
        }
        #expect(
            try await Self.ends(scratch) == [
                "accounts_imported ndjson: cut off, with \(accounts) rows in",
                "import_undone ndjson: \(accounts) removed, 0 kept",
            ])
    }

    private static let others: SQL = """
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        """

    @Test func `a run that has lost its lock ends, and says so`() async throws {
        let run = try await Self.begun(scratch)
        let ended = try await scratch.texts(
            """
            SELECT pg_terminate_backend(l.pid)::text
            FROM pg_locks l
            JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
            WHERE l.locktype = 'advisory' AND l.objsubid = 1
            """)
        #expect(ended == ["true"])
        // It may have ended by now.
        try? run.write(Self.rows[600...])
        let (report, notices) = try await run.end()
        #expect(run.process.terminationStatus == 1)
        #expect(notices.contains("connection to the database was lost"), "\(notices)")
        #expect(try await Self.count("accounts", scratch) == report.count && report.count < 1_200)
        #expect(try await Self.ends(scratch).last?.hasSuffix("; failed") == true)
        let shown = try await ImportCommandTests.run(["show", "ndjson"], scratch)
        #expect(shown.output.contains(#""state":"failed""#), "\(shown.output)")
    }
}
