import TestSupport
import Testing

extension Sandbox: TestFixture {
    static func run(_ body: (Sandbox) async throws -> Void) async throws { try await run(seed: "test", body) }
}

/// One sandbox for the tests that leave nothing behind that could affect another: they only ask for refusals, or they
/// have persons, clients and teams of their own. It ends when the test process ends and its pipe closes.
private let shared = Task { try await Sandbox.start() }

extension Trait where Self == FixtureTrait<Sandbox> {
    static var sharedSandbox: Self { .fixture { try await $0(try await shared.value) } }
}
