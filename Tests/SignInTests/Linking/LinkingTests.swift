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
        #expect(
            try await fixture.mails() == [
                QueuedMail(template: "identity_linked", recipient: "kim@example.com", provider: "google")
            ])
        #expect(try await fixture.recorded(of: member).contains("identity_linked"))
        let session = try await fixture.session(.google, token)
        #expect(session.account.id == member.account.id)
        // Linking changes neither the account's address nor whether it is proven.
        #expect(session.account.email?.text == "kim@example.com")
    }

    @Test func `linking needs fresh authentication, before anything is verified`() async throws {
        let registered = try await fixture.register("kim@example.com")
        fixture.clock.advance(by: 601)
        let before = try await fixture.state()
        for token in [try fixture.google("1"), "no token"] {
            try await expectFailure("reauthenticationRequired") {
                try await fixture.link(.google, .init(token: token), to: registered)
            }
        }
        #expect(try await fixture.state() == before)
    }

    @Test func `a token that is not accepted links nothing`() async throws {
        let registered = try await fixture.register("kim@example.com")
        let before = try await fixture.state()
        try await expectFailure("malformed") {
            try await fixture.link(.google, .init(token: "no token"), to: registered)
        }
        try await expectFailure("audience_rejected") {
            try await fixture.link(.google, .init(token: try fixture.google("1", [("aud", "another")])), to: registered)
        }
        #expect(try await fixture.state() == before)
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

    @Test func `a second identity of the provider is a conflict that names the first`() async throws {
        let registered = try await fixture.register("kim@example.com")
        let first = try await fixture.link(.google, .init(token: try fixture.google("1")), to: registered)
        await expectFailure(.providerAlreadyLinked(first)) {
            try await fixture.link(.google, .init(token: try fixture.google("2")), to: registered)
        }
        #expect(try await fixture.count("identities") == 1)
        #expect(try await fixture.count("link_tickets WHERE consumed_at IS NULL") == 0)
        // The subject is free: it was never linked.
        _ = try await fixture.signUp(.google("2"))
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
        let linking = try await fixture.interleave { transaction in
            try await transaction.execute("SELECT FROM accounts FOR UPDATE")
            try await transaction.execute("UPDATE sessions SET ended_at = now(), end_reason = 'signed_out'")
        } with: {
            try await fixture.link(.google, .init(token: token), to: registered)
        }
        try await expectFailure("invalidSession") { try await linking.value }
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

    // MARK: With codes

    @Test(arguments: Provider.allCases)
    func `what the code brought is kept with the identity`(provider: Provider) async throws {
        try await LifeCycleFixture.run { fixture in
            let account = try await fixture.account(provider == .apple ? .google : .apple)
            let identity = try await fixture.link(try await fixture.consent(provider), to: account)
            #expect(identity.authorization == .active)
            #expect(try await fixture.count("provider_grants WHERE identity_id = \(identity.id)") == 1)
            #expect(try await fixture.grants(provider).map(\.isLive) == [true])
            #expect(try await fixture.count("outbox") == 0)
        }
    }

    @Test func `what the code of a refused link brought is revoked at once when nothing else of the person is here`()
        async throws
    {
        try await LifeCycleFixture.run { fixture in
            let kim = try await fixture.account(.google)
            try await expectFailure("providerAlreadyLinked") {
                try await fixture.link(try await fixture.consent(.google, "ada"), to: kim)
            }
            // At once, not when a ticket would have expired.
            try await fixture.revokeDue()
            #expect(try await fixture.grants(.google, "ada").map(\.endedBy) == [.revoke])
            #expect(try await fixture.grants(.google).map(\.isLive) == [true])
            #expect(try await fixture.count("provider_grants") == 1)
        }
    }

    @Test func `what the code of a refused link brought is erased when the person is somebody here`() async throws {
        try await LifeCycleFixture.run { fixture in
            let ada = try await fixture.account(.google, "ada")
            let kim = try await fixture.account(.apple)
            try await expectFailure("identityAlreadyLinked") {
                try await fixture.link(try await fixture.consent(.google, "ada"), to: kim)
            }
            try await fixture.revokeDue()
            // A revocation would have ended hers too.
            #expect(try await fixture.grants(.google, "ada").allSatisfy(\.isLive))
            #expect(try await fixture.authorization(ada.identity) == "active")
            #expect(try await fixture.count("provider_grants") == 2)
        }
    }

    @Test func `what the code of a refused link brought goes to the identity of the person that has none`() async throws
    {
        try await LifeCycleFixture.run { fixture in
            let ada = try await fixture.create(
                try await fixture.ticket(try await fixture.consent(.google, "ada"), .token))
            let kim = try await fixture.account(.apple)
            try await expectFailure("identityAlreadyLinked") {
                try await fixture.link(try await fixture.consent(.google, "ada"), to: kim)
            }
            #expect(try await fixture.authorization(ada.identity) == "active")
            #expect(try await fixture.count("outbox") == 0)
        }
    }
}
