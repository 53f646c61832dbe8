import TestSupport

/// One sandbox for the tests that only ask for refusals and so leave nothing behind. It ends with the test process,
/// whose pipe to it closes.
enum SharedSandbox {
    private static let sandbox = Task { try await Sandbox.start() }

    static func use(_ body: (Sandbox) async throws -> Void) async throws {
        try await body(try await sandbox.value)
    }
}
