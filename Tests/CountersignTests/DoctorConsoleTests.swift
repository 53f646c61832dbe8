import Postgres
import TestSupport
import Testing

@testable import countersign

/// What the doctor says of the console's staff.
@Suite(.fixture(ScratchDatabase.self), .timeLimit(.minutes(3))) struct DoctorConsoleTests {
    var scratch: ScratchDatabase { .current }

    private func findings(_ setup: ConfigurationSetup) async throws -> [String] {
        setup.environment["COUNTERSIGN_POSTGRES_URL"] = scratch.url
        for provider in ["APPLE", "GOOGLE"] {
            setup.environment["COUNTERSIGN_\(provider)_KEYS_URL"] = "http://127.0.0.1:1/"
        }
        return try await Doctor.with(setup.environment) { await $0.examine() }
            .filter { $0.check == .consoleStaff }.map(\.line)
    }

    private func adminKey(_ words: String...) async throws {
        let run = try await CountersignProcess.run(
            ["admin-key"] + words, environment: ["COUNTERSIGN_POSTGRES_URL": scratch.url])
        #expect(run.code == 0, "\(run.errors)")
    }

    @Test func `a name of the staff that an admin key has is a failure, until the key is revoked`() async throws {
        let setup = try ConsoleConfigurationTests.setup()
        let sound = ["ok consoleStaff: no admin key has a name of console.staff"]
        try await adminKey("create", "--name", "ann", "--scopes", "read")
        #expect(try await findings(setup) == sound)
        try await adminKey("create", "--name", "kim", "--scopes", "read")
        let found = try await findings(setup)
        #expect(found.count == 1, "\(found)")
        #expect(
            found.first?.hasPrefix("failure consoleStaff: console.staff has names that admin keys have: kim; ") == true,
            "\(found)")
        let ids = try await scratch.texts("SELECT key_id::text FROM admin_keys WHERE name = 'kim'")
        try await adminKey("revoke", try #require(ids.first))
        #expect(try await findings(setup) == sound)
    }

    @Test func `without staff nothing is looked at`() async throws {
        #expect(try await findings(try ConfigurationSetup()).isEmpty)
    }
}
