import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// How often the owner of an account may do what is mailed to them.
@Suite(.fixture { try await SignInFixture.withMail(limits: [.linkPerAccount: .limit(count: 2, seconds: 60)], $0) })
struct ActLimitTests {
    var fixture: SignInFixture { .current }

    private static let email = "kim@example.com"
    private static let password = BindCredential.password(email: email, password: SignInFixture.password)

    /// A member, of whom no mail waits.
    private func member() async throws -> SignedIn {
        let member = try await fixture.member(Self.email)
        try await fixture.forgetMails()
        return member
    }

    private func unlink(_ identity: Identity?, of member: SignedIn) async throws {
        try await fixture.unlink(identity, of: member)
        // A token from before counts no more.
        fixture.clock.advance(by: 1)
    }

    @Test func `an account links providers as often as it may, and who proves its mailbox once more`() async throws {
        let member = try await member()
        @Sendable func add(_ person: Person, to owner: SignedIn) async throws -> Identity {
            try await fixture.link(person.provider, .init(token: try fixture.token(of: person)), to: owner)
        }
        try await unlink(try await add(.google("1"), to: member), of: member)
        // What is refused for something else is no link.
        let taken = try await fixture.signUp(.apple("a-1"))
        try await expectFailure("identityAlreadyLinked") { try await add(.apple("a-1"), to: member) }
        let bound = try await fixture.bind(.google("1"), Self.password)
        try await unlink(bound.identity, of: member)
        // A bind by a session has no limit.
        _ = try await fixture.bind(.apple("a-2"), member.session.credential)

        let ticket = try await fixture.ticket(.google("1"))
        await expectFailure(.rateLimited(.linkPerAccount, retryAfter: 28)) {
            try await fixture.bind(ticket, Self.password)
        }
        await expectFailure(.rateLimited(.linkPerAccount, retryAfter: 28)) { try await add(.google("1"), to: member) }
        // Each that was made is mailed, and nothing else.
        #expect(try await fixture.mails(.identityLinked).count == 3)
        #expect(try await fixture.mails(.identityUnlinked).count == 2)
        _ = try await add(.google("2"), to: taken)

        let proven = try await fixture.bind(ticket, try await fixture.mailedProof(of: Self.email, for: ticket))
        #expect(proven.account.id == member.account.id)
        try await detach(proven.identity)
        fixture.clock.advance(by: 28)
        _ = try await add(.google("1"), to: member)
        #expect(try await fixture.mails(.identityLinked).count == 5)
    }

    /// Unlinks as an administrator does.
    private func detach(_ identity: Identity?) async throws {
        let request = AuditEvent(.revocationRequested, by: .operator, reason: "case 17")
        _ = try await fixture.storage.accounts.revoke(
            try #require(identity).id, unlinking: true, recording: request, by: .at(fixture.clock.now()))
        fixture.clock.advance(by: 1)
    }

    @Test func `an account unlinks providers as often as it may, and an administrator more often`() async throws {
        let member = try await member()
        for _ in 0..<2 {
            let bound = try await fixture.bind(.google("1"), member.session.credential)
            // What is refused for something else is no unlinking.
            try await expectFailure("identityNotFound") {
                try await fixture.service.accounts.unlink(
                    IdentityID(now: fixture.clock.now()), of: try await fixture.opened(member), by: fixture.call)
            }
            try await unlink(bound.identity, of: member)
        }
        let bound = try await fixture.bind(.google("1"), member.session.credential)
        await expectFailure(.rateLimited(.linkPerAccount, retryAfter: 28)) {
            try await unlink(bound.identity, of: member)
        }
        #expect(try await fixture.count("identities") == 1)
        #expect(try await fixture.mails(.identityUnlinked).count == 2)

        try await detach(bound.identity)
        let again = try await fixture.bind(.google("1"), member.session.credential)
        // Links have an allowance of their own.
        _ = try await fixture.link(.apple, .init(token: try fixture.apple("a-1")), to: member)
        fixture.clock.advance(by: 27)
        try await unlink(again.identity, of: member)
        #expect(try await fixture.count("identities") == 1)
    }

    @Test func `a session replaces an identity as often as it may link one`() async throws {
        let member = try await member()
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
        let proof = try await fixture.mailedProof(of: Self.email, for: ticket)
        _ = try await fixture.bind(ticket, proof, replacing: true)
        #expect(try await fixture.texts("SELECT subject FROM identities") == ["4"])
    }

    @Test(
        .fixture {
            try await SignInFixture.withMail(limits: [.passwordChangePerAccount: .limit(count: 2, seconds: 60)], $0)
        })
    func `an account changes its password as often as it may, and a mailed code gives it back`() async throws {
        let member = try await member()
        try await fixture.changePassword(of: member, to: "long password 1")
        try await fixture.changePassword(of: member, from: "long password 1", to: "long password 2")
        await expectFailure(.rateLimited(.passwordChangePerAccount, retryAfter: 30)) {
            try await fixture.changePassword(of: member, from: "long password 2", to: "long password 3")
        }
        try await expectFailure("invalidCredentials") {
            try await fixture.changePassword(of: member, from: "long password 1", to: "long password 3")
        }
        #expect(try await fixture.mails(.passwordChanged).count == 2)

        let code = try await fixture.code(.resetPassword, for: Self.email)
        try await fixture.reset(Self.email, code: code)
        #expect(try await !fixture.isLive(member))
        #expect(try await fixture.mails(.passwordChanged).count == 3)
    }
}
