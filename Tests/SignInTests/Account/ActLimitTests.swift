import Accounts
import SignIn
import TestSupport
import Testing

/// How often the owner of an account may do what is mailed to them.
@Suite struct ActLimitTests {
    private static let email = "kim@example.com"

    /// Runs `body` with a member, where an account may do it twice a minute.
    private static func run(
        _ kind: LimitKind, _ body: (SignInFixture, SignedIn) async throws -> Void
    ) async throws {
        try await SignInFixture.withMail(limits: [kind: .limit(count: 2, seconds: 60)]) { fixture in
            let member = try await fixture.member(email)
            try await fixture.forgetMails()
            try await body(fixture, member)
        }
    }

    @Test func `an account links providers as often as it may, and who proves its mailbox once more`() async throws {
        try await Self.run(.linkPerAccount) { fixture, member in
            @Sendable func add(_ provider: Provider, _ token: String, to owner: SignedIn) async throws -> Identity {
                try await fixture.link(provider, .init(token: token), to: owner)
            }
            func unlink(_ id: IdentityID) async throws {
                try await fixture.service.accounts.unlink(id, of: try await fixture.opened(member), by: fixture.call)
                // A token from before counts no more.
                fixture.clock.advance(by: 1)
            }
            try await unlink(try await add(.google, try fixture.google("1"), to: member).id)
            // What is refused for something else is no link.
            let taken = try await fixture.signUp(.apple("a-1"))
            try await expectFailure("identityAlreadyLinked") {
                try await add(.apple, try fixture.apple("a-1"), to: member)
            }
            let bound = try await fixture.bind(
                try await fixture.ticket(.google("1")),
                .password(email: Self.email, password: SignInFixture.password))
            try await unlink(try #require(bound.identity).id)
            // A bind by a session has no limit.
            let free = try await fixture.bind(.google("1"), member.session.credential)
            try await unlink(try #require(free.identity).id)

            let ticket = try await fixture.ticket(.google("1"))
            await expectFailure(.rateLimited(.linkPerAccount, retryAfter: 27)) {
                try await fixture.bind(
                    ticket, .password(email: Self.email, password: SignInFixture.password))
            }
            await expectFailure(.rateLimited(.linkPerAccount, retryAfter: 27)) {
                try await add(.google, try fixture.google("1"), to: member)
            }
            // Each that was made is mailed, and nothing else.
            #expect(try await fixture.mails(.identityLinked).count == 3)
            #expect(try await fixture.mails(.identityUnlinked).count == 3)
            _ = try await add(.google, try fixture.google("2"), to: taken)

            let code = try await fixture.code(.bind, for: Self.email, ticket: ticket)
            let proven = try await fixture.bind(ticket, .emailCode(email: Self.email, code: code))
            #expect(proven.account.id == member.account.id)
            fixture.clock.advance(by: 28)
            _ = try await add(.apple, try fixture.apple("a-2"), to: member)
            #expect(try await fixture.mails(.identityLinked).count == 5)
        }
    }

    @Test func `an account changes its password as often as it may, and a mailed code gives it back`() async throws {
        try await Self.run(.passwordChangePerAccount) { fixture, member in
            @Sendable func change(_ old: String, _ new: String) async throws {
                try await fixture.service.accounts.changePassword(
                    of: try await fixture.opened(member), current: old, to: new, by: fixture.call)
            }
            try await change(SignInFixture.password, "long password 1")
            try await change("long password 1", "long password 2")
            await expectFailure(.rateLimited(.passwordChangePerAccount, retryAfter: 30)) {
                try await change("long password 2", "long password 3")
            }
            try await expectFailure("invalidCredentials") { try await change("long password 1", "long password 3") }
            #expect(try await fixture.mails(.passwordChanged).count == 2)

            let code = try await fixture.code(.resetPassword, for: Self.email)
            try await fixture.reset(Self.email, code: code)
            #expect(try await !fixture.isLive(member))
            #expect(try await fixture.mails(.passwordChanged).count == 3)
        }
    }
}
