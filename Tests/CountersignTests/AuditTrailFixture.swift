import Accounts
import Foundation
import KeyRing
import Postgres
import Storage
import TestSupport

@testable import countersign

/// An audit trail in a database of its own, beside a key ring, for commands that are processes.
struct AuditTrailFixture: TestFixture {
    let scratch: ScratchDatabase
    let keyRing: URL

    /// With three rows that nothing has sealed.
    static func run(_ body: (AuditTrailFixture) async throws -> Void) async throws {
        try await runEmpty { trail in
            try await trail.record(3, at: "now()")
            try await body(trail)
        }
    }

    static func runEmpty(_ body: (AuditTrailFixture) async throws -> Void) async throws {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        try await ScratchDatabase.withMigrated { scratch in
            let trail = AuditTrailFixture(scratch: scratch, keyRing: directory.url.appending(path: "keyring"))
            try trail.write(keys: ("k1", 1))
            try await body(trail)
        }
    }

    func verify(_ arguments: String..., url: String? = nil) async throws -> FinishedProcess {
        try await CountersignProcess.run(
            ["audit", "verify"] + arguments,
            environment: ["COUNTERSIGN_POSTGRES_URL": url ?? scratch.url, "COUNTERSIGN_KEYRING_PATH": keyRing.path])
    }

    /// Makes the first seal, if there is none, as the service does: no command begins the seals of a trail.
    func begin() async throws {
        let keyRing = try KeyRing(parsing: String(contentsOf: self.keyRing, encoding: .utf8))
        try await scratch.withPool { database in
            let seals = AuditSeals(database: database, keyRing: keyRing)
            while try await seals.end() == nil, try await seals.oldestUnsealed() != nil {
                if case .halted(let halt) = try await seals.seal(by: .at(SystemClock().now())) { throw halt }
                try await pollingPause()
            }
        }
    }

    /// Verifies until nothing is left unsealed: transactions of other tests, which share the cluster, may delay it.
    @discardableResult
    func sealed() async throws -> FinishedProcess {
        try await begin()
        while true {
            let run = try await verify()
            if run.output.contains(" 0 not sealed yet") || run.code > 1 { return run }
        }
    }

    /// The number of seals.
    func seals() async throws -> Int64 { try await scratch.count("SELECT count(*) FROM audit_seals") }

    /// - Parameter time: an expression, of which each row has the value.
    func record(_ count: Int, at time: SQL) async throws {
        try await scratch.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, created_at)
            SELECT gen_random_uuid(), 'signed_in', 'person', \(time)
            FROM generate_series(1, \(Int32(count)))
            """)
    }

    /// Runs the body with the URL of a role that has these privileges alone.
    func withRole(
        granted privileges: String..., body: (_ url: String) async throws -> FinishedProcess
    ) async throws -> FinishedProcess {
        let role = "auditor_" + UUID().uuidString.replacing("-", with: "").lowercased()
        try await scratch.execute("CREATE ROLE \(unsafeSQL: role) LOGIN")
        for privilege in privileges { try await scratch.execute("GRANT \(unsafeSQL: privilege) TO \(unsafeSQL: role)") }
        let run = try await body(scratch.url + (scratch.url.contains("?") ? "&" : "?") + "user=\(role)")
        try await scratch.execute("DROP OWNED BY \(unsafeSQL: role)", "DROP ROLE \(unsafeSQL: role)")
        return run
    }

    func write(keys: (id: String, octet: UInt8)...) throws {
        let lines = keys.map { "\($0.id) \(Data(repeating: $0.octet, count: 32).base64EncodedString())\n" }
        try Data(lines.joined().utf8).write(to: keyRing)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyRing.path)
    }
}
