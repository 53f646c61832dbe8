import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// What a new person has typed waits for the code that is mailed, and no longer.
@Suite struct WebRegistrationTests {
    private static func register(_ email: String, in flow: WebFlow, _ fixture: WebFixture) async throws {
        try await fixture.web.register(
            email: email, password: SignInFixture.password, displayName: DisplayName("Kim"),
            in: fixture.reference(flow), by: fixture.call)
    }

    @Test func `it is swept when the code is over, ten minutes after the form`() async throws {
        try await WebFixture.run { fixture in
            let first = try await fixture.openAccountFlow()
            try await Self.register("kim@example.com", in: first, fixture)
            fixture.clock.advance(by: 300)
            let second = try await fixture.openAccountFlow()
            try await Self.register("lee@example.com", in: second, fixture)
            func left() async throws -> Int64 {
                _ = try await fixture.base.sweeper.sweep()
                return try await fixture.count("web_registrations")
            }
            #expect(try await left() == 2)
            fixture.clock.advance(by: 299)
            #expect(try await left() == 2)
            fixture.clock.advance(by: 1)
            #expect(try await left() == 1)
            // Typed once more, it stays as long as the new code.
            try await Self.register("lee@example.com", in: second, fixture)
            fixture.clock.advance(by: 599)
            #expect(try await left() == 1)
            fixture.clock.advance(by: 1)
            #expect(try await left() == 0)
        }
    }
}
