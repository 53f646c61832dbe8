import Foundation
import Postgres
import TestSupport
import Testing

/// `countersign audit verify`, as a process.
@Suite struct AuditCommandTests {
    private struct Trail {
        let scratch: ScratchDatabase
        let keyRing: URL

        func verify(_ arguments: String..., url: String? = nil) async throws -> CountersignProcess {
            try await CountersignProcess.run(
                ["audit", "verify"] + arguments,
                environment: [
                    "COUNTERSIGN_POSTGRES_URL": url ?? scratch.url, "COUNTERSIGN_KEYRING_PATH": keyRing.path,
                ])
        }

        /// Verifies until nothing is left unsealed: transactions of other tests, which share the cluster, may delay it.
        func sealed() async throws -> CountersignProcess {
            while true {
                let run = try await verify()
                if run.output.contains(" 0 not sealed yet") || run.code > 1 { return run }
            }
        }

        func change(_ statements: SQL...) async throws {
            try await scratch.withPool { database in
                for statement in statements { _ = try await database.execute(statement) }
            }
        }

        func write(keys: (id: String, octet: UInt8)...) throws {
            let lines = keys.map { "\($0.id) \(Data(repeating: $0.octet, count: 32).base64EncodedString())\n" }
            try Data(lines.joined().utf8).write(to: keyRing)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyRing.path)
        }
    }

    /// Three rows that nothing has sealed.
    private func withTrail(_ body: (Trail) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "countersign-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await ScratchDatabase.withMigrated { scratch in
            let trail = Trail(scratch: scratch, keyRing: directory.appending(path: "keyring"))
            try trail.write(keys: ("k1", 1))
            try await trail.change(
                """
                INSERT INTO audit_events (event_id, type, actor, created_at)
                SELECT gen_random_uuid(), 'signed_in', 'person', now()
                FROM generate_series(1, 3)
                """)
            try await body(trail)
        }
    }

    @Test func `what is pending is sealed, and the head of a sound trail is printed`() async throws {
        try await withTrail { trail in
            let run = try await trail.sealed()
            #expect(run.code == 0, "\(run.errors)")
            let counts = "3 rows under 1 seals checked, 0 not sealed yet, findings: 0; "
            #expect(run.output.hasPrefix(counts))
            let line = /head (1:[0-9a-f]{16}) over 3 rows\n/
            let head = try #require(run.output.dropFirst(counts.count).wholeMatch(of: line)).1
            #expect(run.errors.contains("warning: the role of postgres.url may change and delete audit rows"))
            #expect(try await trail.verify("--head", String(head)).code == 0)
            let other = try await trail.verify("--head", "1:0000000000000000")
            #expect(other.code == 1)
            #expect(other.output.hasPrefix("seal 1: it is not the seal that was noted as the head\n"))
            #expect(try await trail.verify("--head", "2:" + head.dropFirst(2)).code == 1)
        }
    }

    @Test func `a role that can only add is warned of nothing`() async throws {
        try await withTrail { trail in
            let role = "auditor_" + UUID().uuidString.replacing("-", with: "").lowercased()
            try await trail.change(
                "CREATE ROLE \(unsafeSQL: role) LOGIN",
                "GRANT SELECT, INSERT ON audit_events, audit_seals TO \(unsafeSQL: role)",
                "GRANT SELECT, INSERT, UPDATE ON audit_head TO \(unsafeSQL: role)",
                "GRANT SELECT ON schema_migrations TO \(unsafeSQL: role)")
            let url = trail.scratch.url + (trail.scratch.url.contains("?") ? "&" : "?") + "user=\(role)"
            let run = try await trail.verify(url: url)
            try await trail.change("DROP OWNED BY \(unsafeSQL: role)", "DROP ROLE \(unsafeSQL: role)")
            #expect(run.code == 0)
            #expect(run.errors.isEmpty, "\(run.errors)")
        }
    }

    @Test func `what is not as it was sealed is printed, a line each`() async throws {
        try await withTrail { trail in
            _ = try await trail.sealed()
            try await trail.change("UPDATE audit_events SET type = 'signed_out'")
            let changed = try await trail.verify()
            #expect(changed.code == 1)
            let seal = #/seal 1 \(up to [0-9TZ:-]+\): /#
            #expect(changed.lines.first?.replacing(seal, with: "") == "a row, or the seal itself, was changed")
            #expect(changed.lines.last?.contains("findings: 1; head 1:") == true)
            try await trail.change("DELETE FROM audit_events")
            #expect(try await trail.verify().lines.first?.replacing(seal, with: "") == "rows are missing: 3")
            try await trail.change("DELETE FROM audit_seals")
            let cut = try await trail.verify()
            #expect(cut.code == 1)
            #expect(
                cut.lines == [
                    "seal 1: the end of the trail was cut off: 1 seals, 3 rows",
                    "0 rows under 0 seals checked, 0 not sealed yet, findings: 1; head none",
                ])
            try await trail.change("DELETE FROM audit_head")
            #expect(try await trail.verify().code == 0)
        }
    }

    @Test func `a key that is gone is named`() async throws {
        try await withTrail { trail in
            _ = try await trail.sealed()
            try trail.write(keys: ("k2", 2))
            let run = try await trail.verify()
            #expect(run.code == 1)
            #expect(run.output.contains("the key ring lacks the key k1"))
            try trail.write(keys: ("k2", 2), ("k1", 1))
            #expect(try await trail.verify().code == 0)
        }
    }

    @Test func `a trail with columns of a later release is left to that one`() async throws {
        try await withTrail { trail in
            _ = try await trail.sealed()
            try await trail.change("ALTER TABLE audit_events ADD COLUMN colour text, ADD COLUMN shape text")
            let run = try await trail.verify()
            #expect(run.code == 1)
            #expect(run.output.isEmpty)
            #expect(
                run.errors == """
                    countersign: audit_events has columns that this release doesn't know (colour, shape): run \
                    `countersign audit verify` of the one that added them

                    """)
        }
    }

    @Test func `rows that were taken away are passed over by a later start`() async throws {
        try await withTrail { trail in
            _ = try await trail.sealed()
            try await trail.change("DELETE FROM audit_events")
            #expect(try await trail.verify().code == 1)
            let run = try await trail.verify("--since", "2099-01-01T00:00:00Z")
            #expect(run.code == 0, "\(run.output)")
            #expect(run.output.hasPrefix("0 rows under 0 seals checked, 0 not sealed yet, findings: 0; head 1:"))
        }
    }

    @Test(arguments: [
        ["audit", "verify", "--since", "yesterday"], ["audit", "verify", "--head", "1"],
        ["audit", "verify", "--head", "1:12"], ["audit", "verify", "--head", "x:0000000000000000"],
    ])
    func `a command line that can't be meant is a usage error`(_ arguments: [String]) async throws {
        let run = try await CountersignProcess.run(
            arguments, environment: ["COUNTERSIGN_POSTGRES_URL": "postgresql:///nowhere"])
        #expect(run.code == 2)
        #expect(run.errors.hasPrefix("countersign: The value "), "\(run.errors)")
    }

    @Test func `without a key ring nothing is touched`() async throws {
        let run = try await CountersignProcess.run(
            ["audit", "verify"], environment: ["COUNTERSIGN_POSTGRES_URL": "postgresql:///nowhere"])
        #expect(run.code == 2)
        #expect(run.errors.contains("keyring.path"))
    }
}
