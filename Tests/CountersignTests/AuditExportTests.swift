import Accounts
import Foundation
import JSON
import KeyRing
import OpenSSL
import Postgres
import Primitives
import TestSupport
import Testing

/// `countersign audit export`, as a process.
@Suite(.fixture { try await AuditTrailFixture.runEmpty($0) }, .timeLimit(.minutes(5))) struct AuditExportTests {
    var trail: AuditTrailFixture { .current }

    private static func export(_ trail: AuditTrailFixture, _ arguments: String...) async throws -> FinishedProcess {
        try await CountersignProcess.run(
            ["audit", "export"] + arguments, environment: ["COUNTERSIGN_POSTGRES_URL": trail.scratch.url])
    }

    /// A line of the export.
    private struct Line {
        let kind: String
        let members: [(name: String, value: JSONValue)]

        init(_ text: Substring) throws {
            let whole = try JSONValue(parsing: Array(text.utf8))
            let (kind, content) = try #require(whole.members?.first)
            #expect(whole.members?.count == 1)
            self.kind = kind
            members = try #require(content.members)
        }

        subscript(name: String) -> JSONValue? { members.first { $0.name == name }?.value }
    }

    private static func lines(_ run: FinishedProcess) throws -> [Line] {
        #expect(run.code == 0, "\(run.errors)")
        #expect(run.errors.isEmpty)
        return try run.lines.map { try Line($0) }
    }

    /// The code of a seal as docs/audit.md has it, from what was exported alone.
    private static func code(of seal: Line, over rows: [Line], _ keyRing: KeyRing) throws -> String {
        func octets(_ number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        func octets(_ bytes: [UInt8]) -> [UInt8] { octets(Int64(bytes.count)) + bytes }
        func octets(uuid text: String) throws -> [UInt8] {
            octets(try #require(Hexadecimal.decode(text.replacing("-", with: ""))))
        }
        func octets(time text: String) throws -> [UInt8] {
            let match = try #require(text.wholeMatch(of: /([0-9TZ:-]+)\.([0-9]{6})Z/))
            let seconds = try #require(Timestamp(rfc3339: "\(match.1)Z")).seconds
            return octets(seconds * 1_000_000 + (try #require(Int64(match.2))))
        }
        func number(_ name: String) throws -> [UInt8] { octets(try #require(seal[name]?.integer)) }
        func text(_ name: String) throws -> String { try #require(seal[name]?.string) }

        let beginsAt = try seal["begins_at"]?.string.map { try octets(time: $0) }
        var message = octets(Array("countersign audit seal \(beginsAt == nil ? 1 : 2)".utf8))
        message += octets(try seal["previous_mac"]?.string.map { try #require(Hexadecimal.decode($0)) } ?? [])
        message += try number("seal_number") + number("chain") + number("transaction_id")
        message += try octets(uuid: text("event_id")) + number("row_count") + number("total_count")
        message += octets(Array(try text("key_id").utf8))
        message += try octets(time: text("created_at")) + (beginsAt ?? [])
        for row in rows {
            var content: [UInt8] = []
            for (name, value) in row.members {
                content += octets(Array(name.utf8))
                switch name {
                case "event_id", "account_id", "identity_id", "revocation_id", "session_id":
                    content += try octets(uuid: #require(value.string))
                case "created_at": content += try octets(time: #require(value.string))
                case "occurrences", "transaction_id", "chain": content += octets(try #require(value.integer))
                default: content += octets(Array(try #require(value.string).utf8))
                }
            }
            message += octets(content)
        }
        let key = try #require(keyRing.subkey(try text("key_id"), for: .audit))
        return Hexadecimal.encode(try HMACSHA256.authenticationCode(for: message, key: key.bytes).bytes)
    }

    /// Checks every seal with the rows before it.
    ///
    /// - Returns: the rows that no seal covers.
    private static func check(_ lines: [Line], _ trail: AuditTrailFixture) throws -> [Line] {
        let keyRing = try KeyRing(parsing: try String(contentsOf: trail.keyRing, encoding: .utf8))
        var rows: [Line] = []
        for line in lines {
            if line.kind == "row" {
                rows.append(line)
            } else {
                #expect(line.kind == "seal")
                #expect(line["row_count"]?.integer == Int64(rows.count))
                #expect(line["mac"]?.string == (try code(of: line, over: rows, keyRing)))
                rows = []
            }
        }
        return rows
    }

    /// The rows in the database, in the order of the seals, as objects without what is NULL.
    private static func stored(_ trail: AuditTrailFixture) async throws -> [NSDictionary] {
        let texts = try await trail.scratch.texts(
            """
            SELECT jsonb_strip_nulls(to_jsonb(e) || jsonb_build_object('created_at',
                to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::text
            FROM audit_events e
            ORDER BY chain, transaction_id, event_id
            """)
        return try texts.map { try object($0) }
    }

    private static func object(_ text: String) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
    }

    private static func rows(_ run: FinishedProcess) throws -> [NSDictionary] {
        try run.lines.compactMap { try object(String($0))["row"] as? NSDictionary }
    }

    // MARK: What is exported

    @Test func `every column of every row is there, and the seals can be made again from it`() async throws {
        let id = "'01890000-0000-7000-8000-000000000001'"
        try await trail.scratch.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, account_id, identity_id, revocation_id, provider, jti,
                reason, request_id, session_id, network, occurrences, actor_name, created_at)
            VALUES (gen_random_uuid(), 'revocation_requested', 'administrator', \(unsafeSQL: id), \(unsafeSQL: id),
                \(unsafeSQL: id), 'apple', 'j', E'said "so"\\n\\t\\u0001 ümlaut', 'r', \(unsafeSQL: id), '192.0.2.0/24',
                7, 'kim', '2026-11-05T01:02:03.000045Z')
            """)
        try await trail.sealed()
        try await trail.record(2, at: "now()")
        try await trail.sealed()
        let run = try await Self.export(trail, "--since", "2026-11-01T00:00:00Z")
        let lines = try Self.lines(run)
        #expect(try Self.check(lines, trail).isEmpty)
        #expect(lines.map(\.kind) == ["row", "seal", "row", "row", "seal"])
        #expect(lines[1]["previous_mac"] == nil)
        #expect(lines[1]["begins_at"] != nil)
        #expect(lines[4]["begins_at"] == nil)
        #expect(lines[4]["previous_mac"]?.string == lines[1]["mac"]?.string)
        #expect(try Self.rows(run) == (try await Self.stored(trail)))
        let columns = try await trail.scratch.texts(
            """
            SELECT attname::text FROM pg_attribute
            WHERE attrelid = 'audit_events'::regclass AND attnum > 0 AND NOT attisdropped
            """)
        #expect(lines[0].members.map(\.name).sorted() == columns.sorted())
    }

    @Test(.fixture(AuditTrailFixture.self)) func `a row that was changed does not fit its seal`() async throws {
        try await trail.sealed()
        try await trail.scratch.execute("UPDATE audit_events SET actor = 'operator'")
        let lines = try Self.lines(try await Self.export(trail, "--since", "2026-01-01T00:00:00Z"))
        let keyRing = try KeyRing(parsing: try String(contentsOf: trail.keyRing, encoding: .utf8))
        let code = try Self.code(of: try #require(lines.last), over: lines.dropLast(), keyRing)
        #expect(lines.last?["mac"]?.string != code)
    }

    @Test func `a period is exported with whole seals, and what is behind the last one without`() async throws {
        // Three seals of a row each, and one of two rows that are hours apart; then a row that none covers.
        for hour in ["01", "02", "03"] {
            try await trail.record(1, at: "'2026-11-05T\(unsafeSQL: hour):00Z'")
            try await trail.sealed()
        }
        try await trail.scratch.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, created_at)
            VALUES ('01890000-0000-7000-8000-000000000001', 'signed_in', 'person', '2026-11-05T04:00Z'),
                ('01890000-0000-7000-8000-000000000002', 'signed_in', 'person', '2026-11-05T08:00Z')
            """)
        try await trail.sealed()
        try await trail.record(1, at: "'2026-11-05T09:00Z'")

        func row(_ hour: Int) -> String { "2026-11-05T0\(hour):00:00.000000Z" }
        func exported(_ since: Int, _ until: Int? = nil) async throws -> [String] {
            var arguments = ["audit", "export", "--since", "2026-11-05T0\(since):00:00Z"]
            if let until { arguments += ["--until", "2026-11-05T0\(until):00:00Z"] }
            let run = try await CountersignProcess.run(
                arguments, environment: ["COUNTERSIGN_POSTGRES_URL": trail.scratch.url])
            let lines = try Self.lines(run)
            _ = try Self.check(lines, trail)
            return lines.map {
                ($0.kind == "seal" ? "seal " : "") + ($0[$0.kind == "seal" ? "seal_number" : "created_at"]?.text ?? "")
            }
        }
        let fourth = [row(4), row(8), "seal 4"]
        #expect(try await exported(1, 2) == [row(1), "seal 1"])
        #expect(try await exported(2, 4) == [row(2), "seal 2", row(3), "seal 3"])
        #expect(try await exported(3) == [row(3), "seal 3"] + fourth + [row(9)])
        #expect(try await exported(4, 5) == fourth)
        #expect(try await exported(5) == fourth + [row(9)])
        #expect(try await exported(5, 9) == fourth)
        #expect(try await exported(9) == [row(9)])
        #expect(try await exported(0, 1) == [])
        #expect(try await exported(5, 7) == [])
    }

    /// More than a page of rows and a page of output, in more than one seal.
    @Test func `a long trail is exported in its order`() async throws {
        for _ in 1...3 { try await trail.record(1500, at: "now()") }
        try await trail.sealed()
        try await trail.record(2500, at: "now()")
        let run = try await Self.export(trail, "--since", "2026-01-01T00:00:00Z")
        let lines = try Self.lines(run)
        #expect(try Self.check(lines, trail).count == 2500)
        #expect(lines.count { $0.kind == "seal" } >= 5)
        let exported = try Self.rows(run)
        #expect(exported.count == 7000)
        #expect(exported == (try await Self.stored(trail)))
    }

    @Test func `seals that are missing leave a gap that shows`() async throws {
        for _ in 1...3 {
            try await trail.record(1, at: "now()")
            try await trail.sealed()
        }
        try await trail.scratch.execute("DELETE FROM audit_seals WHERE seal_number = 2")
        let lines = try Self.lines(try await Self.export(trail, "--since", "2026-01-01T00:00:00Z"))
        #expect(lines.map(\.kind) == ["row", "seal", "row", "row", "seal"])
        #expect(lines.last?["seal_number"]?.integer == 3)
        #expect(lines.last?["previous_mac"] == nil)
    }

    // MARK: Who may, and how it ends

    @Test(.fixture(AuditTrailFixture.self))
    func `a role that may read the trail can export it, and needs no key`() async throws {
        let run = try await trail.withRole(granted: "SELECT ON audit_events, audit_seals, schema_migrations") { url in
            try await CountersignProcess.run(
                ["audit", "export", "--since", "2026-01-01T00:00:00Z"],
                environment: ["COUNTERSIGN_POSTGRES_URL": url])
        }
        #expect(try Self.lines(run).map(\.kind) == ["row", "row", "row"])
    }

    @Test func `a reader that has gone ends it without a word`() async throws {
        // A pipe holds 64 KiB.
        try await trail.record(5000, at: "now()")
        let process = Process()
        process.executableURL = try CountersignProcess.executable
        process.arguments = ["audit", "export", "--since", "2026-01-01T00:00:00Z"]
        process.environment = ["COUNTERSIGN_POSTGRES_URL": trail.scratch.url]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.start()
        #expect(try output.fileHandleForReading.read(upToCount: 10) == Data(#"{"row":{"e"#.utf8))
        try output.fileHandleForReading.close()
        await FinishedProcess.onThread { process.waitUntilExit() }
        #expect(try errors.fileHandleForReading.readToEnd() ?? Data() == Data())
        #expect(process.terminationReason == .exit)
        #expect(process.terminationStatus == 1)
    }

    @Test(.fixture(AuditTrailFixture.self)) func `an output that is full is named`() async throws {
        let process = Process()
        process.executableURL = try CountersignProcess.executable
        process.arguments = ["audit", "export", "--since", "2026-01-01T00:00:00Z"]
        process.environment = ["COUNTERSIGN_POSTGRES_URL": trail.scratch.url]
        let errors = Pipe()
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: "/dev/full"))
        process.standardError = errors
        try process.start()
        await FinishedProcess.onThread { process.waitUntilExit() }
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(process.terminationStatus == 1)
        #expect(text == "countersign: Standard output can't be written: No space left on device.\n")
    }

    @Test(.fixture(AuditTrailFixture.self))
    func `a trail with columns of a later release is left to that one`() async throws {
        try await trail.scratch.execute("ALTER TABLE audit_events ADD COLUMN colour text")
        let run = try await Self.export(trail, "--since", "2026-01-01T00:00:00Z").ended(1)
        #expect(run.output.isEmpty)
        #expect(run.errors.hasPrefix("countersign: audit_events has columns that this release doesn't know (colour)"))
    }
}

extension JSONValue {
    /// A text, or an integer's digits.
    fileprivate var text: String? { string ?? integer.map { "\($0)" } }
}
