package import Testing

/// What tests need around them: a database and a service, a process, a sandbox.
///
/// Each test of this suite gets a service of its own, and the last one another configuration:
///
///     @Suite(.fixture(SignInFixture.self)) struct LinkTests {
///         var fixture: SignInFixture { .current }
///
///         @Test func `a token signs in`() async throws {
///             _ = try await fixture.session(.apple, try fixture.apple("a-1"))
///         }
///
///         @Test(.fixture { try await SignInFixture.run(policy: .automatic, $0) })
///         func `a policy decides`() async throws { … }
///     }
package protocol TestFixture: Sendable {
    /// Makes the fixture, passes it to `body`, and takes it away however that ends.
    static func run(_ body: (Self) async throws -> Void) async throws
}

extension TestFixture {
    /// The fixture of the running test, which its own trait or its suite's has made.
    package static var current: Self {
        guard let fixture = CurrentFixtures.byType[ObjectIdentifier(Self.self)] as? Self else {
            preconditionFailure("Neither the test nor its suite has the trait .fixture(\(Self.self).self).")
        }
        return fixture
    }

    /// Runs `body` with this as the current fixture.
    package func asCurrent<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        var fixtures = CurrentFixtures.byType
        fixtures[ObjectIdentifier(Self.self)] = self
        return try await CurrentFixtures.$byType.withValue(fixtures, operation: body, isolation: isolation)
    }
}

private enum CurrentFixtures {
    @TaskLocal static var byType: [ObjectIdentifier: any Sendable] = [:]
}

/// Makes a fixture for each test of a suite or for one test, whose own trait replaces that of its suite.
package struct FixtureTrait<Fixture: TestFixture>: SuiteTrait, TestTrait, TestScoping {
    package typealias Run = @Sendable (_ body: (Fixture) async throws -> Void) async throws -> Void

    /// What one trait has and no other.
    private final class Identity: Sendable {}

    private let identity = Identity()
    private let isShared: Bool
    /// `nil` makes none.
    private let run: Run?

    fileprivate init(isShared: Bool, run: Run?) {
        self.isShared = isShared
        self.run = run
    }

    package var isRecursive: Bool { !isShared }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let innermost = test.traits.lazy.compactMap { $0 as? Self }.last
        guard innermost?.identity === identity, let run else { return try await function() }
        try await run { fixture in try await fixture.asCurrent { try await function() } }
    }
}

extension Trait {
    /// A fixture for each test.
    package static func fixture<Fixture>(
        _ run: @escaping FixtureTrait<Fixture>.Run
    ) -> Self where Self == FixtureTrait<Fixture> { Self(isShared: false, run: run) }

    package static func fixture<Fixture>(_ type: Fixture.Type) -> Self where Self == FixtureTrait<Fixture> {
        fixture { try await Fixture.run($0) }
    }

    /// For a test that needs none, or makes its own, in a suite that has a fixture for each test.
    package static func noFixture<Fixture>(_ type: Fixture.Type) -> Self where Self == FixtureTrait<Fixture> {
        Self(isShared: false, run: nil)
    }

    /// One fixture for all tests of a suite, where they don't interfere with each other. It is not for a suite within one
    /// that has a fixture of the type for each test, which would come first.
    package static func sharedFixture<Fixture>(
        _ run: @escaping FixtureTrait<Fixture>.Run
    ) -> Self where Self == FixtureTrait<Fixture> { Self(isShared: true, run: run) }

    package static func sharedFixture<Fixture>(_ type: Fixture.Type) -> Self where Self == FixtureTrait<Fixture> {
        sharedFixture { try await Fixture.run($0) }
    }
}
