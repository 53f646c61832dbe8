import Foundation
import Postgres
import TestSupport
import Testing

/// `countersign import`, as a process on a database of its own.
@Suite(.fixture(ScratchDatabase.self)) struct ImportCommandTests {
    var scratch: ScratchDatabase { .current }

    static func environment(_ scratch: ScratchDatabase) throws -> [String: String] {
        [
            "COUNTERSIGN_POSTGRES_URL": scratch.url, "COUNTERSIGN_APPLE_CLIENT_IDS": "com.example.lamp",
            "COUNTERSIGN_KEYRING_PATH": try Countersign.keyRingPath.get(),
        ]
    }

    static func run(_ words: [String], _ scratch: ScratchDatabase, input: String = "") async throws -> FinishedProcess {
        try await CountersignProcess.run(["import"] + words, environment: environment(scratch), input: input)
    }

    private static var people: String { get throws { try DataFile("ImportCommand.ndjson").text } }

    private static let outcomes = [
        "1 u1 created", "2 u2 created", "3 u3 conflict email_taken row_claimed holder_imported",
        "4 u4 conflict identity_taken", "5 - refused row_malformed", "6 u5 refused email_malformed", "7 u1 unchanged",
        "8 u6 created password_dropped:unknown",
    ]

    struct Line: Decodable {
        let row: Int
        let externalId: String?
        let outcome: String
        let code: String?
        let notes: [String]?
        let accountId: String?

        var words: String { "\(row) \(result)" }

        /// What became of the row, without its number.
        var result: String {
            ([externalId ?? "-", outcome] + [code].compactMap { $0 } + (notes ?? [])).joined(separator: " ")
        }
    }

    /// What became of the people: a line for each account, by its id in the system before.
    static func accounts(in scratch: ScratchDatabase) async throws -> [String] {
        try await scratch.texts(
            """
            SELECT concat_ws(' ', a.external_id, a.email, a.email_proof, a.display_name, a.status,
                a.created_at AT TIME ZONE 'UTC', (
                    SELECT string_agg(i.provider || ':' || i.subject, ' ' ORDER BY i.provider)
                    FROM identities i WHERE i.account_id = a.account_id), left(a.password_hash, 14))
            FROM accounts a
            ORDER BY a.external_id
            """)
    }

    static func lines(_ output: String) throws -> [Line] {
        try output.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    private static let accounts: SQL = """
        SELECT concat_ws(' ', external_id, email, email_verified, email_proof, email_proof_source, display_name, status,
            created_at AT TIME ZONE 'UTC')
        FROM accounts
        WHERE external_id = 'u1'
        """

    // MARK: A run

    @Test func `each row has one outcome, in the order of the source, and a second run changes nothing`() async throws {
        let first = try await Self.run(["ndjson", "-", "--apple-team", "main"], scratch, input: Self.people).ended(1)
        let lines = try Self.lines(first.output)
        #expect(lines.map(\.words) == Self.outcomes)
        #expect(lines[2].accountId == lines[0].accountId && lines[3].accountId == lines[0].accountId)
        #expect(lines[6].accountId == lines[0].accountId && lines[4].accountId == nil)
        for word in [
            "created 3", "  claimed 2", "  disabled 1", "  stated 1", "conflict 2", "refused 2", "email_taken 1",
            "8 rows", "is here already",
            "let neither person sign in by it, take the import back by `countersign import undo ndjson`",
        ] { #expect(first.errors.contains(word), "\(word)") }
        #expect(
            try await scratch.texts(Self.accounts)
                == ["u1 kim@example.com t stated imported Kim active 2024-05-06 07:08:09"])
        #expect(
            try await scratch.texts("SELECT concat_ws(' ', type, actor, reason) FROM audit_events ORDER BY created_at")
                == ["accounts_imported operator ndjson: created 3, unchanged 1, conflict 2, refused 2"])

        let second = try await Self.run(["ndjson", "-", "--apple-team", "main"], scratch, input: Self.people)
        let again = try Self.lines(second.output)
        #expect(again.map(\.outcome).filter { $0 == "unchanged" }.count == 4)
        #expect(again[0].accountId == lines[0].accountId && again[0].notes == nil)
        #expect(try await scratch.count("SELECT count(*) FROM accounts") == 3)
    }

    @Test func `a dry run reports what a run does and leaves nothing behind`() async throws {
        let words = ["ndjson", "-", "--apple-team", "main"]
        let rehearsed = try await Self.run(words + ["--dry-run"], scratch, input: Self.people).ended(1)
        for table in ["accounts", "identities", "imports", "imported_rows", "audit_events"] as [SQL] {
            #expect(try await scratch.count("SELECT count(*) FROM \(table)") == 0)
        }
        let run = try await Self.run(words, scratch, input: Self.people)
        #expect(try Self.lines(rehearsed.output).map(\.words) == Self.lines(run.output).map(\.words))
        #expect(try Self.lines(rehearsed.output).allSatisfy { $0.accountId == nil })
        let again = try await Self.run(words + ["--dry-run"], scratch, input: Self.people)
        let real = try await Self.run(words, scratch, input: Self.people)
        #expect(try Self.lines(again.output).map(\.words) == Self.lines(real.output).map(\.words))
    }

    @Test func `rows of other imports keep to themselves, and an address that is held here is in conflict`()
        async throws
    {
        let row = #"{"externalId":"u1","email":"kim@example.com"}"#
        #expect(try await Self.run(["ndjson", "-", "--id", "one"], scratch, input: row).code == 0)
        let other = try await Self.run(["ndjson", "-", "--id", "two"], scratch, input: row)
        #expect(try Self.lines(other.output).map(\.words) == ["1 u1 conflict email_taken holder_claimed row_claimed"])
        let list = try await Self.run(["list"], scratch)
        #expect(list.lines.count == 2)
        #expect(list.lines.first?.contains(#""counts":{"created":1,"created:claimed":1}"#) == true, "\(list.output)")
        #expect(list.lines.last?.contains(#""counts":{"conflict":1,"conflict:email_taken":1,"#) == true)
        let shown = try await Self.run(["show", "one"], scratch)
        #expect(shown.output == list.lines.first.map { $0 + "\n" })
        #expect(try await Self.run(["show", "three"], scratch).code == 1)
    }

    @Test func `a row that can't be read says why, by the member and never by its value`() async throws {
        let rows = #"""
            {"externalId":"u1","emailVerfied":true}

            {"externalId":"u2","email":"kim@example.com","createdAt":"yesterday"}
            {"externalId":12,"email":"kim@example.com"}
            {"externalId":"u4","email":"kim@exam
            {"externalId":"u5","identities":[{"provider":"google","subject":4242424}]}
            {"externalId":"u6","\#(String(repeating: "é", count: 9))\#(String(repeating: "x", count: 99))":1}
            {"externalId":"\#(String(repeating: "x", count: 256))"}
            {"externalId":"u8\u009b31m"}
            """#
        let run = try await Self.run(["ndjson", "-"], scratch, input: rows).ended(1)
        #expect(
            try Self.lines(run.output).map(\.words)
                == ["1 u1", "2 u2", "3 -", "4 -", "5 u5", "6 u6", "7 -", "8 -"].map { "\($0) refused row_malformed" })
        let faults = [
            "unknown:emailVerfied", "invalid:createdAt", "invalid:externalId", "unreadable",
            "invalid:identities[0].subject", "unknown:\(String(repeating: "x", count: 38))", "invalid:externalId",
            "invalid:externalId",
        ]
        for (row, fault) in zip(1..., faults) {
            #expect(run.errors.contains("row \(row) can't be read: \(fault)\n"), "\(run.errors)")
        }
        // The code is counted, and no member is.
        #expect(run.errors.contains("refused 8") && !run.errors.contains(": note "), "\(run.errors)")
        for value in ["yesterday", "kim@", "4242424"] {
            #expect(!(run.output + run.errors).contains(value), "\(value)")
        }
    }

    @Test func `a relay address that another account has is dropped, and its identity comes`() async throws {
        let rows = """
            {"externalId":"a","email":"x@privaterelay.appleid.com"}
            {"externalId":"b","email":"x@privaterelay.appleid.com","identities":[{"provider":"google","subject":"1"}]}
            {"externalId":"c","email":"x@privaterelay.appleid.com"}
            """
        let run = try await Self.run(["ndjson", "-"], scratch, input: rows)
        #expect(
            try Self.lines(run.output).map(\.words) == [
                "1 a created identity_missing", "2 b created identity_missing email_dropped",
                "3 c conflict email_taken identity_missing holder_claimed row_claimed holder_imported",
            ])
    }

    @Test func `a row that is in conflict or refused holds nothing`() async throws {
        let rows = """
            {"externalId":"a","email":"kim@example.com"}
            {"externalId":"b","email":"kim@example.com","identities":[{"provider":"google","subject":"7"}]}
            {"externalId":"c","email":"lee@example.com","identities":[{"provider":"google","subject":""}]}
            {"externalId":"b","email":"lee@example.com","identities":[{"provider":"google","subject":"7"}]}
            {"externalId":"c","email":"ada@example.com"}
            """
        let run = try await Self.run(["ndjson", "-"], scratch, input: rows)
        #expect(
            try Self.lines(run.output).map(\.words) == [
                "1 a created", "2 b conflict email_taken holder_claimed row_claimed holder_imported",
                "3 c refused subject_malformed", "4 b created", "5 c created",
            ])
    }

    @Test func `what the command line or the source has wrong ends with 2, and says what`() async throws {
        let apple = #"{"externalId":"u1","identities":[{"provider":"apple","subject":"1"}]}"#
        for (words, input, sentence) in [
            (["ndjson", "-"], apple, "--apple-team"),
            (["ndjson", "-", "--apple-team", "other"], "", "no team other"),
            (["ndjson"], "", "FILE"), (["ndjson", "/nowhere"], "", "can't be read"),
            (["paypal", "-"], "", "paypal"),
            (["ndjson", "-", "--id", "productA"], "", "it has to be 1 to 64 lower-case letters"),
            (["undo", "No Name"], "", "it has to be 1 to 64 lower-case letters"),
            (["ndjson", "-", "--apple-team", "main", "--skip-apple"], "", "exclude"),
            (["ndjson", "-", "--report", "/nowhere/report"], "", "can't be written"),
        ] {
            let run = try await Self.run(words, scratch, input: input)
            #expect(run.code == 2, "\(words): \(run.errors)")
            #expect(run.errors.contains(sentence), "\(words): \(run.errors)")
        }
        let skipped = try await Self.run(["ndjson", "-", "--skip-apple"], scratch, input: apple)
        #expect(try Self.lines(skipped.output).map(\.words) == ["1 u1 refused no_way_in identity_skipped:apple"])
    }

    @Test func `a URL with a password shows before our own database is reached`() async throws {
        var environment = try Self.environment(scratch)
        environment["COUNTERSIGN_POSTGRES_URL"] = "postgresql://service@127.0.0.1:1/app"
        let run = try await CountersignProcess.run(
            ["import", "supabase", "--from", "postgres://kim:secret@127.0.0.1/db"], environment: environment)
        #expect(run.code == 2 && run.errors.contains("PGPASSFILE"), "\(run.errors)")
    }

    @Test func `the imports are listed without the key ring`() async throws {
        _ = try await Self.run(["ndjson", "-"], scratch, input: #"{"externalId":"u1","email":"kim@example.com"}"#)
        var environment = try Self.environment(scratch)
        environment["COUNTERSIGN_KEYRING_PATH"] = nil
        for words in [["list"], ["show", "ndjson"]] {
            let run = try await CountersignProcess.run(["import"] + words, environment: environment)
            #expect(run.code == 0 && run.output.contains(#""name":"ndjson""#), "\(words): \(run.errors)")
        }
    }

    @Test func `the report is a file of the owner's alone, in place of what was there`() async throws {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let file = try directory.write("report", String(repeating: "a", count: 10_000), mode: 0o644)
        let run = try await Self.run(
            ["ndjson", "-", "--report", file], scratch,
            input: #"{"externalId":"u1","email":"kim@example.com"}"#)
        #expect(run.code == 0 && run.output.isEmpty, "\(run.errors)")
        #expect(try Self.lines(String(contentsOfFile: file, encoding: .utf8)).map(\.words) == ["1 u1 created"])
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let printed = try await Self.run(
            ["ndjson", "-", "--report", "-"], scratch, input: #"{"externalId":"u1","email":"kim@example.com"}"#)
        #expect(try Self.lines(printed.output).map(\.words) == ["1 u1 unchanged"], "\(printed.errors)")
    }

    @Test func `a run of a name that is under way keeps a second one out`() async throws {
        try await scratch.withPool(.test(poolSize: 1)) { database in
            try await database.withConnection { connection in
                try await connection.execute(
                    "SELECT pg_advisory_lock(hashtextextended('countersign import ndjson', 0))")
                let run = try await Self.run(["ndjson", "-"], scratch, input: #"{"externalId":"u1"}"#).ended(2)
                #expect(run.errors.contains("under way"))
                #expect(try await Self.run(["undo", "ndjson"], scratch).code == 2)
            }
        }
    }

    // MARK: Undo

    @Test func `undo takes back what nothing has touched, keeps the rest, and a run makes again what went`()
        async throws
    {
        let words = ["ndjson", "-", "--apple-team", "main"]
        let made = try Self.lines(try await Self.run(words, scratch, input: Self.people).output)
        let touched = try #require(made[1].accountId)
        let disable = try await CountersignProcess.run(
            ["account", "disable", touched, "--reason", "test"], environment: Self.environment(scratch))
        #expect(disable.code == 0, "\(disable.errors)")

        let rehearsed = try await Self.run(["undo", "ndjson", "--dry-run"], scratch)
        let kept = #"{"accountId":"\#(touched)","externalId":"u2","outcome":"kept"}"# + "\n"
        #expect(rehearsed.code == 1 && rehearsed.output == kept, "\(rehearsed.errors)")
        #expect(try await scratch.count("SELECT count(*) FROM accounts") == 3)

        let undone = try await Self.run(["undo", "ndjson"], scratch)
        #expect(undone.code == 1 && undone.output == kept, "\(undone.errors)")
        #expect(try await scratch.texts("SELECT external_id FROM accounts") == ["u2"])
        #expect(
            try await scratch.texts("SELECT reason FROM audit_events WHERE type = 'import_undone'")
                == ["ndjson: 2 removed, 1 kept"])

        let again = try Self.lines(try await Self.run(words, scratch, input: Self.people).output)
        #expect(again[0].outcome == "created" && again[1].outcome == "unchanged")
        #expect(again[1].accountId == touched)
    }

    @Test func `a code that anyone had mailed to an address keeps no account, one of an administrator does`()
        async throws
    {
        let made = try Self.lines(
            try await Self.run(["ndjson", "-", "--apple-team", "main"], scratch, input: Self.people).output)
        let (mailed, helped) = (try #require(made[0].accountId), try #require(made[1].accountId))
        for (kind, actor, account) in [
            ("code_mailed", "service", mailed), ("code_requested", "operator", helped),
            ("code_mailed", "service", helped),
        ] {
            try await scratch.execute(
                """
                INSERT INTO audit_events (event_id, type, actor, account_id, created_at)
                VALUES (gen_random_uuid(), \(kind), \(actor), \(account)::text::uuid, now())
                """)
        }
        let undone = try await Self.run(["undo", "ndjson"], scratch)
        #expect(
            undone.code == 1 && undone.output.contains(helped) && !undone.output.contains(mailed), "\(undone.errors)")
    }

    @Test func `undo keeps an account that a provider's authorization has come to`() async throws {
        _ = try await Self.run(["ndjson", "-", "--apple-team", "main"], scratch, input: Self.people)
        try await scratch.execute(
            """
            INSERT INTO provider_grants (grant_id, provider, realm, subject, client_id, sealed_refresh_token,
                prefix_fingerprint, digest_fingerprint, created_at, identity_id)
            SELECT gen_random_uuid(), provider, realm, subject, 'lamp', '', '', '', created_at, identity_id
            FROM identities
            LIMIT 1
            """)
        let undone = try await Self.run(["undo", "ndjson"], scratch)
        #expect(undone.code == 1 && undone.output.split(separator: "\n").count == 1, "\(undone.errors)")
        #expect(try await scratch.count("SELECT count(*) FROM accounts") == 1)
    }

    @Test func `undo of an untouched import leaves nothing of it but the trail`() async throws {
        _ = try await Self.run(["ndjson", "-", "--apple-team", "main"], scratch, input: Self.people)
        let undone = try await Self.run(["undo", "ndjson"], scratch)
        #expect(undone.code == 0 && undone.output.isEmpty, "\(undone.errors)")
        for table in ["accounts", "identities", "imports", "imported_rows"] as [SQL] {
            #expect(try await scratch.count("SELECT count(*) FROM \(table)") == 0)
        }
        #expect(try await Self.run(["undo", "ndjson"], scratch).code == 1)
    }

    @Test func `the file to be read is no report, a run under way loses none, and a failed run is recorded`()
        async throws
    {
        let folder = try ScratchDirectory()
        defer { folder.remove() }
        // The last row ends the run: it says no team.
        let text =
            #"{"externalId":"u1","email":"kim@example.com","emailVerified":true}"# + "\n"
            + #"{"externalId":"u2","identities":[{"provider":"apple","subject":"1"}]}"# + "\n"
        let file = try folder.write("people.ndjson", text)
        let same = try await Self.run(["ndjson", file, "--report", file], scratch)
        #expect(same.code == 2 && same.errors.contains("is the file to be read"), "\(same.errors)")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        #expect(try await Self.run(["ndjson", file, "--dry-run", "--report", "/dev/null"], scratch).code == 2)
        #expect(try FileManager.default.attributesOfItem(atPath: "/dev/null")[.posixPermissions] as? Int == 0o666)

        let failed = try await Self.run(["ndjson", file, "--verified-means", "proven"], scratch)
        #expect(failed.code == 2 && failed.errors.contains("--apple-team"), "\(failed.errors)")
        #expect(
            try await scratch.texts(
                "SELECT reason FROM audit_events WHERE type = 'accounts_imported' ORDER BY created_at"
            )
            .last?.hasSuffix("verified means proven; failed") == true)
    }

    @Test func `an account that its person has deleted stays away, and is known without its id`() async throws {
        let row = #"{"externalId":"u1","email":"kim@example.com"}"#
        let made = try Self.lines(try await Self.run(["ndjson", "-"], scratch, input: row).output)
        let id = try #require(made[0].accountId)
        let deleted = try await CountersignProcess.run(
            ["account", "delete", id, "--yes"], environment: Self.environment(scratch))
        #expect(deleted.code == 0, "\(deleted.errors)")
        let again = try Self.lines(try await Self.run(["ndjson", "-"], scratch, input: row).output)
        #expect(again.map(\.words) == ["1 u1 unchanged"] && again[0].accountId == nil)
        #expect(
            try await scratch.count("SELECT count(*) FROM imported_rows WHERE imported_rows::text LIKE '%u1%'") == 0)
    }

    // MARK: Faults

    @Test func `every row of a fuzzed file ends in one of the outcomes, and none half written`() async throws {
        var random = SplitMix64(seed: 33)
        let lines = try Self.people.split(separator: "\n").map { Array($0.utf8) }
        var input: [UInt8] = []
        for _ in 0..<600 {
            var line = lines[Int.random(in: 0..<lines.count, using: &random)]
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                line[Int.random(in: 0..<line.count, using: &random)] = UInt8.random(in: 0x20...0xFF, using: &random)
            }
            input += line + [0x0A]
        }
        let process = try await FinishedProcess.run(
            CountersignProcess.executable, ["import", "ndjson", "-", "--apple-team", "main"],
            environment: Self.environment(scratch), input: Data(input))
        #expect(process.code == 1, "\(process.errors)")
        let report = try Self.lines(process.output)
        #expect(report.map(\.row) == Array(1...600))
        let words: Set = ["created", "unchanged", "conflict", "refused"]
        #expect(report.allSatisfy { words.contains($0.outcome) })
        let created = report.count { $0.outcome == "created" }
        #expect(try await scratch.count("SELECT count(*) FROM accounts") == created)
        #expect(try await scratch.count("SELECT count(*) FROM imported_rows") == created)
    }
}
