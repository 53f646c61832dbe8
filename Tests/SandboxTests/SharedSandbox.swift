import TestSupport

/// One sandbox for the tests that leave nothing behind that could affect another: they only ask for refusals, or they
/// have persons, clients and teams of their own. It ends when the test process ends and its pipe closes.
enum SharedSandbox {
    static let sandbox = Task { try await Sandbox.start() }

    static func use(_ body: (Sandbox) async throws -> Void) async throws {
        try await body(try await sandbox.value)
    }
}
