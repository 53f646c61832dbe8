import Accounts
import Foundation
import KeyRing
import Postgres
import Storage
import TestSupport
import Testing

/// `countersign audit drop-before`, as a process.
@Suite(.timeLimit(.minutes(15))) struct AuditDropTests {
    /// A role that has what the service has of the trail.
    private static let service = [
        "SELECT, INSERT ON audit_events, audit_seals", "SELECT, INSERT, UPDATE ON audit_head",
        "SELECT ON schema_migrations",
    ]

    /// Two rows in each of three months, sealed in their time.
    private static func withTrail(_ body: (AuditTrailFixture) async throws -> Void) async throws {
        try await AuditTrailFixture.runEmpty { trail in
            let keyRing = try KeyRing(parsing: String(contentsOf: trail.keyRing, encoding: .utf8))
            try await trail.scratch.withPool { database in
                for month in ["2026-06", "2026-07", "2026-08"] {
                    for day in ["03", "17"] {
                        try await trail.record(1, at: "\(unsafeSQL: "'\(month)-\(day)Z'")::timestamptz")
                        let time = try #require(Timestamp(rfc3339: "\(month)-\(day)T00:00:01Z"))
                        let seals = AuditSeals(database: database, keyRing: keyRing)
                        while try await seals.oldestUnsealed() != nil {
                            _ = try await seals.seal(by: .at(time))
                            try await pollingPause()
                        }
                    }
                }
            }
            try await body(trail)
        }
    }

    private static func run(
        _ words: [String], _ trail: AuditTrailFixture, url: String? = nil, migrationURL: String? = nil
    ) async throws -> FinishedProcess {
        var environment = [
            "COUNTERSIGN_POSTGRES_URL": url ?? trail.scratch.url, "COUNTERSIGN_KEYRING_PATH": trail.keyRing.path,
        ]
        environment["COUNTERSIGN_POSTGRES_MIGRATION_URL"] = migrationURL
        return try await CountersignProcess.run(["audit", "drop-before"] + words, environment: environment)
    }

    private static func count(_ trail: AuditTrailFixture) async throws -> [String] {
        try await trail.scratch.texts(
            """
            SELECT concat_ws(' ', (SELECT count(*) FROM audit_events WHERE type = 'signed_in'),
                (SELECT count(*) FROM audit_seals))
            """)
    }

    @Test func `what goes is exported first, its seals can be checked again, and the trail is sound`() async throws {
        try await Self.withTrail { trail in
            let file = trail.keyRing.deletingLastPathComponent().appending(path: "june.ndjson")
            let rehearsed = try await Self.run(["2026-07", "--dry-run"], trail).ended()
            #expect(
                rehearsed.output
                    == "2 rows under 2 seals from before 2026-07, the last one of 2026-06-17T00:00:01Z, would go\n")
            #expect(try await Self.count(trail) == ["6 6"])

            let run = try await Self.run(["2026-07", "--export", file.path, "--yes"], trail).ended()
            #expect(
                run.lines == [
                    "2 rows under 2 seals from before 2026-07, the last one of 2026-06-17T00:00:01Z, go",
                    "`countersign audit verify` begins behind seal 2",
                ])
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            #expect(lines.map { $0.hasPrefix(#"{"row""#) ? "row" : "seal" } == ["row", "seal", "row", "seal"])
            #expect(lines.last?.contains("previous_mac") == true && lines.first?.contains("2026-06-03") == true)

            let verified = try await trail.sealed().ended()
            #expect(verified.output.hasPrefix("5 rows under 5 seals checked, 0 not sealed yet, findings: 0; head 7:"))
            let recorded = try await trail.scratch.texts(
                "SELECT concat_ws(' ', actor, reason) FROM audit_events WHERE type = 'audit_dropped'")
            let reason = try #require(recorded.first)
            #expect(reason.wholeMatch(of: #/operator before 2026-07, rows 2, 2:[0-9a-f]{64}/#) != nil)

            // What is there is not written over, and then nothing goes.
            let again = try await Self.run(["2026-08", "--export", file.path, "--yes"], trail)
            #expect(again.code == 2 && again.errors.contains("can't be made"), "\(again.errors)")
            #expect(try await Self.count(trail) == ["4 6"])
            let none = try await Self.run(["2026-07", "--yes"], trail)
            #expect(none.code == 0 && none.output == "nothing from before 2026-07 is left to go\n", "\(none.errors)")
        }
    }

    @Test func `it is the owner's: the service's role takes nothing away, by the command or beside it`() async throws {
        try await Self.withTrail { trail in
            let run = try await trail.withRole(granted: Self.service[0], Self.service[1], Self.service[2]) { url in
                let refused = try await Self.run(["2026-07", "--yes"], trail, url: url)
                #expect(refused.code == 1 && refused.errors.contains("postgres.migrationUrl"), "\(refused.errors)")
                #expect(try await Self.count(trail) == ["6 6"])
                // What the command itself sends.
                let role = try #require(url.split(separator: "user=").last.map(String.init))
                try await trail.scratch.withPool(.test(poolSize: 1)) { database in
                    try await database.execute("SET ROLE \(unsafeSQL: role)")
                    for statement in [
                        "DROP TABLE audit_events_2026_11", "TRUNCATE audit_events",
                        "ALTER TABLE audit_events DETACH PARTITION audit_events_2026_11", "DELETE FROM audit_seals",
                    ] as [SQL] {
                        let error = await #expect(throws: PostgresError.self) { try await database.execute(statement) }
                        #expect(error?.sqlState == "42501", "\(statement)")
                    }
                }
                return try await Self.run(["2026-07", "--yes"], trail, url: url, migrationURL: trail.scratch.url)
            }
            #expect(run.code == 0, "\(run.errors)")
            #expect(try await Self.count(trail) == ["4 5"])
            #expect(try await trail.sealed().code == 0)
        }
    }

    @Test func `elsewhere than at a terminal nothing goes, and nothing is exported, without --yes`() async throws {
        try await Self.withTrail { trail in
            let file = trail.keyRing.deletingLastPathComponent().appending(path: "unsaid.ndjson")
            let run = try await Self.run(["2026-07", "--export", file.path], trail)
            #expect(run.code == 2 && run.errors.contains("say --yes: there is no terminal"), "\(run.errors)")
            #expect(run.output.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: file.path))
            #expect(try await Self.count(trail) == ["6 6"])
        }
    }

    @Test func `a partition that goes is named`() async throws {
        try await Self.withTrail { trail in
            try await trail.scratch.execute(
                "CREATE TABLE audit_events_by_hand PARTITION OF audit_events FOR VALUES FROM ('2020-01-01Z') TO ('2020-03-01Z')",
                "CREATE TABLE audit_events_open PARTITION OF audit_events FOR VALUES FROM (MINVALUE) TO ('2019-01-01Z')"
            )
            let run = try await Self.run(["2026-07", "--yes"], trail).ended()
            #expect(run.lines.dropFirst().dropLast() == ["dropped audit_events_by_hand", "dropped audit_events_open"])
        }
    }

    @Test func `where seals and head were taken away nothing goes, and nothing is sealed afresh`() async throws {
        try await Self.withTrail { trail in
            try await trail.scratch.execute("TRUNCATE audit_seals, audit_head")
            let run = try await Self.run(["2026-07", "--yes"], trail).ended(1)
            #expect(run.errors.contains("there is neither a seal nor a head"), "\(run.errors)")
            #expect(try await Self.count(trail) == ["6 0"])
        }
    }

    @Test func `without the key of the last seal nothing goes`() async throws {
        try await Self.withTrail { trail in
            try trail.write(keys: ("k2", 2))
            try await Self.run(["2026-07", "--yes"], trail).ended(1)
            #expect(try await Self.count(trail) == ["6 6"])
        }
    }
}
