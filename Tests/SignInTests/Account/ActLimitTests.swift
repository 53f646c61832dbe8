import Accounts
import Postgres
import SignIn
import Storage
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

    private static func unlink(
        _ identity: Identity?, of member: SignedIn, _ fixture: SignInFixture
    ) async throws {
        let session = try await fixture.opened(member)
        try await fixture.service.accounts.unlink(try #require(identity).id, of: session, by: fixture.call)
        // A token from before counts no more.
        fixture.clock.advance(by: 1)
    }

    @Test func `an account links providers as often as it may, and who proves its mailbox once more`() async throws {
        try await Self.run(.linkPerAccount) { fixture, member in
            @Sendable func add(_ provider: Provider, _ token: String, to owner: SignedIn) async throws -> Identity {
                try await fixture.link(provider, .init(token: token), to: owner)
            }
            try await Self.unlink(try await add(.google, try fixture.google("1"), to: member), of: member, fixture)
            // What is refused for something else is no link.
            let taken = try await fixture.signUp(.apple("a-1"))
            try await expectFailure("identityAlreadyLinked") {
                try await add(.apple, try fixture.apple("a-1"), to: member)
            }
            let bound = try await fixture.bind(
                try await fixture.ticket(.google("1")),
                .password(email: Self.email, password: SignInFixture.password))
            try await Self.unlink(bound.identity, of: member, fixture)
            // A bind by a session has no limit.
            _ = try await fixture.bind(.apple("a-2"), member.session.credential)

            let ticket = try await fixture.ticket(.google("1"))
            await expectFailure(.rateLimited(.linkPerAccount, retryAfter: 28)) {
                try await fixture.bind(
                    ticket, .password(email: Self.email, password: SignInFixture.password))
            }
            await expectFailure(.rateLimited(.linkPerAccount, retryAfter: 28)) {
                try await add(.google, try fixture.google("1"), to: member)
            }
            // Each that was made is mailed, and nothing else.
            #expect(try await fixture.mails(.identityLinked).count == 3)
            #expect(try await fixture.mails(.identityUnlinked).count == 2)
            _ = try await add(.google, try fixture.google("2"), to: taken)

            let code = try await fixture.code(.bind, for: Self.email, ticket: ticket)
            let proven = try await fixture.bind(ticket, .emailCode(email: Self.email, code: code))
            #expect(proven.account.id == member.account.id)
            try await Self.detach(proven.identity, fixture)
            fixture.clock.advance(by: 28)
            _ = try await add(.google, try fixture.google("1"), to: member)
            #expect(try await fixture.mails(.identityLinked).count == 5)
        }
    }

    /// Unlinks as an administrator does.
    private static func detach(_ identity: Identity?, _ fixture: SignInFixture) async throws {
        let request = AuditEvent(.revocationRequested, by: .operator, reason: "case 17")
        _ = try await fixture.storage.accounts.revoke(
            try #require(identity).id, unlinking: true, recording: request, by: .at(fixture.clock.now()))
        fixture.clock.advance(by: 1)
    }

    @Test func `an account unlinks providers as often as it may, and an administrator more often`() async throws {
        try await Self.run(.linkPerAccount) { fixture, member in
            for _ in 0..<2 {
                let bound = try await fixture.bind(.google("1"), member.session.credential)
                // What is refused for something else is no unlinking.
                try await expectFailure("identityNotFound") {
                    try await fixture.service.accounts.unlink(
                        IdentityID(now: fixture.clock.now()), of: try await fixture.opened(member), by: fixture.call)
                }
                try await Self.unlink(bound.identity, of: member, fixture)
            }
            let bound = try await fixture.bind(.google("1"), member.session.credential)
            await expectFailure(.rateLimited(.linkPerAccount, retryAfter: 28)) {
                try await Self.unlink(bound.identity, of: member, fixture)
            }
            #expect(try await fixture.count("identities") == 1)
            #expect(try await fixture.mails(.identityUnlinked).count == 2)

            try await Self.detach(bound.identity, fixture)
            let again = try await fixture.bind(.google("1"), member.session.credential)
            // Links have an allowance of their own.
            _ = try await fixture.link(.apple, .init(token: try fixture.apple("a-1")), to: member)
            fixture.clock.advance(by: 27)
            try await Self.unlink(again.identity, of: member, fixture)
            #expect(try await fixture.count("identities") == 1)
        }
    }

    @Test func `a session replaces an identity as often as it may link one`() async throws {
        try await Self.run(.linkPerAccount) { fixture, member in
            _ = try await fixture.bind(.google("1"), member.session.credential)
            for subject in ["2", "3"] {
                let ticket = try await fixture.ticket(.google(subject))
                _ = try await fixture.bind(ticket, member.session.credential, replacing: true)
            }
            let ticket = try await fixture.ticket(.google("4"))
            await expectFailure(.rateLimited(.linkPerAccount, retryAfter: 30)) {
                try await fixture.bind(ticket, member.session.credential, replacing: true)
            }
            #expect(try await fixture.mails(.identityReplaced).count == 2)
            #expect(try await fixture.texts("SELECT subject FROM identities") == ["3"])

            // The ticket is as good as before, and who proves the mailbox is refused nothing.
            let code = try await fixture.code(.bind, for: Self.email, ticket: ticket)
            _ = try await fixture.bind(ticket, .emailCode(email: Self.email, code: code), replacing: true)
            #expect(try await fixture.texts("SELECT subject FROM identities") == ["4"])
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
