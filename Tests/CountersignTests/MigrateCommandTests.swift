import Foundation
import Migrator
import Postgres
import TestSupport
import Testing

/// `countersign migrate`, as processes on a database of their own, with the migrations of this build.
@Suite(.fixture { try await ScratchDatabase.withFresh($0) }, .timeLimit(.minutes(15))) struct MigrateCommandTests {
    var scratch: ScratchDatabase { .current }

    private static func run(_ arguments: [String], _ url: String) async throws -> FinishedProcess {
        try await CountersignProcess.run(["migrate"] + arguments, environment: ["COUNTERSIGN_POSTGRES_URL": url])
    }

    private static let tables: SQL = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"

    @Test func `a database goes up and down, and each step is printed`() async throws {
        let labels = Migration.embedded.map(\.label)
        let verify = try await Self.run(["verify"], scratch.url).ended(1)
        #expect(verify.errors.hasPrefix("countersign: The database has no schema yet"))

        let plan = try await Self.run(["up", "--dry-run"], scratch.url).ended()
        #expect(plan.lines == labels.map { "would apply \($0)" })
        #expect(try await scratch.count(Self.tables) == 0)

        let first = try await Self.run(["up", "--to", "1"], scratch.url)
        #expect(first.lines == ["applied \(labels[0])"])
        let behind = try await Self.run(["verify"], scratch.url).ended(1)
        #expect(behind.errors.contains("behind this binary, beginning with \(labels[1])"))

        let rest = try await Self.run(["up"], scratch.url)
        #expect(rest.lines == labels.dropFirst().map { "applied \($0)" })
        #expect(try await Self.run(["up"], scratch.url).output == "nothing to apply\n")
        #expect(try await Self.run(["verify"], scratch.url).code == 0)
        let status = try await Self.run(["status"], scratch.url)
        #expect(status.lines.map { $0.prefix { $0 != " " } } == labels.map { Substring($0) })
        #expect(status.lines.allSatisfy { $0.contains("  applied 20") })

        #expect(try await Self.run(["down"], scratch.url).lines == ["took back \(labels[labels.count - 1])"])
        #expect(try await Self.run(["down", "--steps", "99"], scratch.url).lines.count == labels.count - 1)
        #expect(try await scratch.count(Self.tables) == 1)
        #expect(try await Self.run(["down"], scratch.url).output == "nothing to take back\n")
    }

    @Test(.fixture(ScratchDatabase.self), arguments: [("yes", true), ("no", false), ("y", false), ("", false)])
    func `migrate down asks a person at a terminal, and takes nothing back but for a yes`(answer: String, isTaken: Bool)
        async throws
    {
        let latest = try #require(Migration.embedded.last).label
        let before = try await scratch.count("SELECT count(*) FROM schema_migrations")
        let run = try await Self.atTerminal(["migrate", "down"], scratch.url, typing: answer)
        #expect(run.code == (isTaken ? 0 : 1), "\(run.shown)")
        #expect(run.shown.components(separatedBy: "Take back \(latest), ").count == 2, "\(run.shown)")
        #expect(run.shown.contains("took back \(latest)") == isTaken)
        #expect(run.shown.contains("Nothing was done.") == !isTaken)
        let after = try await scratch.count("SELECT count(*) FROM schema_migrations")
        #expect(after == before - (isTaken ? 1 : 0))

        let unasked = try await Self.atTerminal(["migrate", "down", "--yes"], scratch.url, typing: "no")
        #expect(unasked.code == 0)
        #expect(!unasked.shown.contains("Take back"))
        #expect(try await scratch.count("SELECT count(*) FROM schema_migrations") == after - 1)
    }

    /// A run whose standard input is a terminal at which somebody types an answer, by `script(1)`.
    private static func atTerminal(
        _ arguments: [String], _ url: String, typing answer: String
    ) async throws -> (code: Int32, shown: String) {
        let words = (try [CountersignProcess.executable.path] + arguments).joined(separator: " ")
        let run = try await FinishedProcess.run(
            URL(filePath: "/usr/bin/script"), ["--quiet", "--return", "--command", words, "/dev/null"],
            environment: ["COUNTERSIGN_POSTGRES_URL": url, "PATH": "/usr/bin:/bin"],
            input: Data((answer + "\n").utf8))
        return (run.code, run.output)
    }

    @Test(.fixture(ScratchDatabase.self))
    func `on the schema of a later release nothing is applied or taken back, and each command says so`()
        async throws
    {
        try await scratch.execute(
            """
            INSERT INTO schema_migrations (version, name, checksum, finished_at)
            VALUES (9999, 'come_later', 'none', now())
            """)
        let up = try await Self.run(["up"], scratch.url).ended()
        #expect(up.output == "nothing to apply: a later release brought the schema to 9999_come_later\n")
        let status = try await Self.run(["status"], scratch.url)
        #expect(status.lines.last == "9999_come_later  unknown to this binary")
        for arguments in [["down"], ["verify"]] {
            let refusal = try await Self.run(arguments, scratch.url).ended(1)
            #expect(refusal.output.isEmpty)
            #expect(refusal.errors.hasPrefix("countersign: Migration 9999_come_later is applied to the database but"))
        }
        #expect(try await scratch.count("SELECT count(*) FROM accounts") == 0)
    }

    @Test(.fixture(ScratchDatabase.self))
    func `on a schema that this release can't serve on, up is refused and status names the migration`() async throws {
        try await scratch.execute(
            """
            INSERT INTO schema_migrations (version, name, checksum, serves_from, finished_at)
            VALUES (9999, 'take_away', 'none', 9999, now())
            """)
        for arguments in [["up"], ["up", "--dry-run"]] {
            let refusal = try await Self.run(arguments, scratch.url)
            #expect(refusal.code == 1 && refusal.output.isEmpty)
            #expect(
                refusal.errors == "countersign: Migration 9999_take_away of a later release took away what this one "
                    + "needs: start that release, or another that knows migration 9999.\n")
        }
        let status = try await Self.run(["status"], scratch.url).ended()
        #expect(status.lines.last == "9999_take_away  unknown to this binary, which can't serve on it")
    }

    @Test(.fixture(ScratchDatabase.self))
    func `verify looks at the migrations alone, and its help says that it sees nothing changed by hand`() async throws {
        try await scratch.execute("CREATE INDEX by_hand ON accounts (account_id)")
        #expect(try await Self.run(["verify"], scratch.url).code == 0)
        let help = try await Self.run(["verify", "--help"], scratch.url)
        let words = help.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("a table or an index that was changed by hand is not seen"), "\(words)")
    }

    @Test func `a version that doesn't exist is refused`() async throws {
        let run = try await Self.run(["up", "--to", "9999"], scratch.url).ended(2)
        #expect(run.errors.hasPrefix("countersign: --to is a number from 1 to \(Migration.embedded.count) "))
        #expect(try await scratch.count(Self.tables) == 0)
    }

    @Test func `ten processes at once all succeed`() async throws {
        let runs = try await concurrently(0..<10) { _ in try await Self.run(["up"], scratch.url) }
        #expect(runs.map(\.code) == Array(repeating: 0, count: 10), "\(runs.map(\.errors))")
        #expect(runs.filter { $0.output.hasPrefix("applied") }.count == 1)
        #expect(runs.filter { $0.output == "nothing to apply\n" }.count == 9)
    }

    @Test func `a process killed at any moment leaves a database that the next one finishes`() async throws {
        let progress = SQL(unsafeSQL: try DataFile("Fixtures/migration-progress.sql").text)
        try await scratch.withPool { watcher in
            for reached in -2..<Migration.embedded.count {
                let process = Process()
                process.executableURL = try CountersignProcess.executable
                process.arguments = ["migrate", "up"]
                process.environment = ["COUNTERSIGN_POSTGRES_URL": scratch.url]
                process.standardOutput = FileHandle.nullDevice
                process.standardError = FileHandle.nullDevice
                try process.start()
                while try await watcher.query(progress, as: Int.self).first ?? -2 < reached { await Task.yield() }
                kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
                let next = try await Self.run(["up"], scratch.url)
                #expect(next.code == 0, "killed at \(reached): \(next.errors)")
                #expect(try await Self.run(["verify"], scratch.url).code == 0)
                try await watcher.execute("DROP SCHEMA public CASCADE")
                try await watcher.execute("CREATE SCHEMA public")
            }
        }
    }

    /// Whether what waits for this session has done so for less than 14 s. A statement of the service has 10, and 2 more are
    /// taken for silence.
    private static let waitsBriefly: SQL = """
        SELECT EXISTS (
            SELECT FROM pg_locks
            WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))
                AND COALESCE(waitstart > clock_timestamp() - interval '14 seconds', true))
        """

    @Test func `a concurrent build waits for an older transaction for as long as that takes`() async throws {
        let build = try #require(Migration.embedded.first { !$0.isTransactional })
        let url = scratch.url
        try await Self.run(["up", "--to", "\(build.version - 1)"], url).ended()
        let running = try await scratch.withPool { database in
            try await database.transaction(.repeatableRead) { older in
                // Its snapshot is that of the first statement.
                try await older.execute("SELECT 1")
                let running = Task { try await Self.run(["up"], url) }
                try await older.awaitWaiters()
                while try await older.query(Self.waitsBriefly, as: Bool.self) == [true] { try await pollingPause() }
                return running
            }
        }
        let run = try await running.value.ended()
        #expect(run.lines.first == "applied \(build.label)")
        try await Self.run(["verify"], url).ended()
    }

    @Test func `the service's role is granted what it needs when the owner migrates`() async throws {
        let role = "service_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
        try await scratch.execute("CREATE ROLE \(unsafeSQL: role) LOGIN")
        let serviceURL = scratch.url + (scratch.url.contains("?") ? "&" : "?") + "user=\(role)"
        let run = try await CountersignProcess.run(
            ["migrate", "up"],
            environment: ["COUNTERSIGN_POSTGRES_URL": serviceURL, "COUNTERSIGN_POSTGRES_MIGRATION_URL": scratch.url])
        #expect(run.code == 0, "\(run.errors)")
        let changes = try await scratch.texts(
            """
            SELECT has_table_privilege(\(role), t, 'UPDATE')::text
            FROM unnest(ARRAY['accounts', 'schema_migrations']) AS t
            """)
        try await scratch.execute("DROP OWNED BY \(unsafeSQL: role)", "DROP ROLE \(unsafeSQL: role)")
        #expect(changes == ["true", "false"])
    }

    @Test(.noFixture(ScratchDatabase.self))
    func `a database that can't be reached is reported in one sentence, without the password`() async throws {
        let run = try await Self.run(["status"], "postgresql://me:canary@127.0.0.1:1/db?connect_timeout=2").ended(1)
        #expect(run.errors.hasPrefix("countersign: The database can't be reached"))
        #expect(run.errors.split(separator: "\n").count == 1)
        #expect(!run.errors.contains("canary"))
    }

    @Test(.fixture { try await ScratchDatabase.withFresh(encoding: "LATIN1", $0) })
    func `a database in another encoding is refused`() async throws {
        let run = try await Self.run(["up"], scratch.url).ended(1)
        #expect(run.errors == "countersign: The database's encoding is LATIN1: create it with ENCODING 'UTF8'.\n")
    }

    @Test(.noFixture(ScratchDatabase.self))
    func `a new migration is written where it is asked for, without any configuration`() async throws {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let run = try await CountersignProcess.run(["migrate", "new", "create_a", "--directory", directory.url.path])
        #expect(run.code == 0, "\(run.errors)")
        #expect(
            run.lines.map { URL(filePath: String($0)).lastPathComponent } == [
                "0001_create_a.up.sql", "0001_create_a.down.sql",
            ])
        for line in run.lines { #expect(FileManager.default.fileExists(atPath: String(line))) }
        let bad = try await CountersignProcess.run(["migrate", "new", "Nonsense", "--directory", directory.url.path])
        #expect(bad.code == 2)
        #expect(bad.errors.contains("verb_object"))
    }
}
