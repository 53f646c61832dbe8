import TestSupport

/// One sandbox for the tests that leave nothing behind that another one would meet: they only ask for refusals, or they
/// have persons, clients and teams of their own. It ends with the test process, whose pipe to it closes.
enum SharedSandbox {
    static let sandbox = Task { try await Sandbox.start() }

    static func use(_ body: (Sandbox) async throws -> Void) async throws {
        try await body(try await sandbox.value)
    }
}
