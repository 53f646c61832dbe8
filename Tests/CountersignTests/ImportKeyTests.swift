import Foundation
import KeyRing
import Postgres
import TestSupport
import Testing

@testable import countersign

/// The key of an import, by whose digests its rows are known, under the key ring.
@Suite(.fixture(ScratchDatabase.self)) struct ImportKeyTests {
    var scratch: ScratchDatabase { .current }

    /// Runs the body with an environment that has a ring of these lines, each of 32 bytes with that value.
    private func with<Result>(
        _ lines: KeyValuePairs<String, UInt8>, _ body: ([String: String]) async throws -> Result
    ) async throws -> Result {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        var environment = try ImportCommandTests.environment(scratch)
        environment["COUNTERSIGN_KEYRING_PATH"] = try directory.write("keyring", DoctorTests.ring(lines))
        return try await body(environment)
    }

    private func run(
        _ lines: KeyValuePairs<String, UInt8>, name: String = "ndjson", _ flags: [String] = []
    ) async throws -> FinishedProcess {
        try await with(lines) { environment in
            try await CountersignProcess.run(
                ["import", "ndjson", "-", "--id", name] + flags, environment: environment,
                input: #"{"externalId":"\#(name)","email":"\#(name)@example.com"}"#)
        }
    }

    private func doctor(_ lines: KeyValuePairs<String, UInt8>) async throws -> [Finding] {
        try await with(lines) { environment in try await Doctor.with(environment) { await $0.keyRing() } }
    }

    @Test func `a first line that the service doesn't write under begins no import`() async throws {
        try await scratch.execute(
            """
            INSERT INTO keyring_lines (key_id, written_at, created_at) VALUES
                ('k1', now() - interval '1 day', now()), ('k2', now() - interval '1 hour', now())
            """)
        let fault = "is not that of the service, which writes under k2: give its ring"
        let rings: [(lines: KeyValuePairs<String, UInt8>, first: String)] = [
            (["k9": 9, "k2": 2, "k1": 1], "k9"), (["k1": 1, "k2": 2], "k1"),
        ]
        for (lines, id) in rings {
            for flags in [[], ["--dry-run"]] {
                let refused = try await run(lines, flags).ended(2)
                #expect(refused.errors.contains("the first line of the key ring, \(id), \(fault)"), "\(refused.errors)")
            }
        }
        #expect(try await scratch.count("SELECT count(*) FROM imports") == 0)
        try await run(["k2": 2, "k1": 1]).ended()
        // While processes of the old and of the new first line run.
        try await scratch.execute(
            """
            INSERT INTO keyring_lines (key_id, written_at, created_at)
            VALUES ('k3', now() - interval '1 hour' + interval '40 seconds', now())
            """)
        try await run(["k2": 2, "k3": 3], name: "two").ended()
        try await run(["k3": 3, "k2": 2], name: "three").ended()
    }

    @Test func `a first line with other bytes than the service's begins no import`() async throws {
        try await DoctorTests.seal(scratch, try KeyRing(parsing: DoctorTests.ring(["k1": 1])))
        let refused = try await run(["k1": 7]).ended(2)
        #expect(refused.errors.contains("k1, is not that of the service: give its ring"), "\(refused.errors)")
        try await run(["k1": 1]).ended()
    }

    @Test func `the doctor warns of a ring that opens no key of an import`() async throws {
        try await run(["k1": 1]).ended()
        let found = try await doctor(["k1": 1])
        #expect(found.map(\.status) == [.ok], "\(found)")
        let rotated = try await doctor(["k2": 2, "k1": 1])
        #expect(rotated.map(\.status) == [.ok])
        #expect(rotated[0].detail.contains("there are still keys of imports under k1"), "\(rotated)")
        let lacking = try await doctor(["k2": 2])
        #expect(lacking.map(\.status) == [.warning])
        #expect(lacking[0].detail == "lacks the key k1, under which there are keys of imports")
        let other = try await doctor(["k1": 3])
        #expect(other.map(\.status) == [.warning])
        #expect(other[0].detail.hasPrefix("the line k1 is not the one that sealed keys of imports, "))
    }
}
