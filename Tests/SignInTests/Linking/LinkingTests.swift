import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// Linking an identity to the account of a session.
@Suite(.fixture(SignInFixture.self)) struct LinkingTests {
    var fixture: SignInFixture { .current }

    @Test(.fixture { try await SignInFixture.withMail($0) })
    func `an identity is linked, and no session is opened or ended`() async throws {
        let member = try await fixture.member("kim@example.com")
        let other = try await fixture.signIn("kim@example.com")
        let token = try fixture.google("1", SignInFixture.email("kim@gmail.com"))
        let identity = try await fixture.link(.google, .init(token: token), to: member)
        #expect(identity.key.subject.text == "1")
        #expect(identity.email?.text == "kim@gmail.com")
        #expect(identity.authorization == .none)
        for session in [member, other] { #expect(try await fixture.isLive(session)) }
        #expect(try await fixture.count("sessions") == 2)
        // The ticket that it was linked by is spent.
        #expect(try await fixture.count("link_tickets WHERE consumed_at IS NULL") == 0)
        let notice = QueuedMail(template: "identity_linked", recipient: "kim@example.com", provider: "google")
        #expect(try await fixture.mails() == [notice])
        #expect(try await fixture.recorded(of: member).contains("identity_linked"))
        let session = try await fixture.session(.google, token)
        #expect(session.account.id == member.account.id)
        // Linking changes neither the account's address nor whether it is proven.
        #expect(session.account.email?.text == "kim@example.com")
    }

    @Test func `linking needs fresh authentication, before anything is verified`() async throws {
        let registered = try await fixture.register("kim@example.com")
        fixture.clock.advance(by: 601)
        for token in [try fixture.google("1"), "no token"] {
            try await fixture.expectRefusal("reauthenticationRequired") {
                try await fixture.link(.google, .init(token: token), to: registered)
            }
        }
    }

    @Test(arguments: StrayAccountPolicy.allCases)
    func `an identity that is linked to the account already is refused, under either policy`(policy: StrayAccountPolicy)
        async throws
    {
        try await SignInFixture.withMail(strays: policy) { fixture in
            let registered = try await fixture.register("kim@example.com")
            try await fixture.link(.google, .init(token: try fixture.google("1")), to: registered)
            let identities = try await fixture.texts("SELECT to_jsonb(i)::text FROM identities i")
            try await expectFailure("identityAlreadyLinked") {
                try await fixture.link(.google, .init(token: try fixture.google("1")), to: registered)
            }
            #expect(try await fixture.texts("SELECT to_jsonb(i)::text FROM identities i") == identities)
        }
    }

    @Test func `somebody else's identity stays theirs`() async throws {
        let owner = try await fixture.signUp(.google("1"))
        let registered = try await fixture.register("kim@example.com")
        try await expectFailure("identityAlreadyLinked") {
            try await fixture.link(.google, .init(token: try fixture.google("1")), to: registered)
        }
        #expect(try await fixture.session(.google("1")).account.id == owner.account.id)
        #expect(try await fixture.isLive(owner))
    }

    @Test func `of fifty that are linked at once one is`() async throws {
        let registered = try await fixture.register("kim@example.com")
        let outcomes = try await race(50) { number in
            try await fixture.link(.google, .init(token: try fixture.google("\(number)")), to: registered)
        }
        #expect(outcomes == ["won": 1, "providerAlreadyLinked": 49])
        let same = try await race(20) { _ in
            try await fixture.link(.apple, .init(token: try fixture.apple("a-1")), to: registered)
        }
        #expect(same == ["won": 1, "identityAlreadyLinked": 19])
        #expect(try await fixture.count("identities") == 2)
    }

    @Test func `a session that ends while it links links nothing`() async throws {
        let registered = try await fixture.register("kim@example.com")
        let token = try fixture.google("1")
        try await fixture.expectEndedMeanwhile { try await fixture.link(.google, .init(token: token), to: registered) }
        #expect(try await fixture.count("identities") == 0)
        #expect(try await fixture.count("link_tickets WHERE consumed_at IS NULL") == 0)
    }

    @Test func `Apple's name fills an empty one and changes none`() async throws {
        let registered = try await fixture.register("kim@example.com")
        let session = try await fixture.opened(registered)
        for (provider, token, name) in [
            (Provider.apple, try fixture.apple("a-1"), "Kim"), (.google, try fixture.google("1"), "Another"),
        ] {
            _ = try await fixture.service.linking.link(
                provider, .init(token: token, fullName: DisplayName(name)), to: session, by: fixture.call)
            #expect(try await fixture.account(registered).displayName?.text == "Kim")
        }
    }
}
