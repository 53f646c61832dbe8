import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The order of revocations and new codes. A revocation ends whatever a person has authorized by the time the provider
/// carries it out, so a person who comes back before that must not lose what they authorize again.
@Suite(.fixture(LifeCycleFixture.self), .timeLimit(.minutes(15))) struct RevocationOrderTests {
    var fixture: LifeCycleFixture { .current }

    /// An account that was deleted while the provider took no revocations.
    @discardableResult
    private static func deletedDuringOutage(
        _ provider: Provider, in fixture: LifeCycleFixture
    ) async throws -> SignedIn {
        let account = try await fixture.account(provider)
        try await fixture.sandbox.fail(LifeCycleFixture.revokePath(provider), .status(503))
        try await fixture.deleteAccount(account)
        try await fixture.revokeDue()
        #expect(try await fixture.revocationRows().map(\.lastError) == ["http_503"])
        return account
    }

    /// The paths of the requests to the provider after the one with the id `after`, in order.
    private func requests(after: Int64) async throws -> [String] {
        try await fixture.sandbox.history(method: "POST", after: after).map(\.path)
    }

    private func last() async throws -> Int64 { try await fixture.sandbox.history().last?.id ?? 0 }

    @Test(arguments: Provider.allCases)
    func `a pending revocation goes before the code of who comes back`(provider: Provider) async throws {
        try await Self.deletedDuringOutage(provider, in: fixture)
        try await fixture.sandbox.clearFaults()
        let mark = try await last()
        // It is not due for another second, but the person is here.
        let back = try await fixture.account(provider)
        #expect(
            try await requests(after: mark)
                == [LifeCycleFixture.revokePath(provider), LifeCycleFixture.tokenPath(provider)])
        #expect(try await fixture.revocationRows().map(\.status) == ["done"])
        #expect(try await fixture.grants(provider).first?.endedBy == .revoke)
        // These providers end open codes too: the person is signed in, and the next code brings the grant.
        #expect(back.identity?.authorization == Identity.Authorization.none)
        #expect(try await fixture.audited(.codeRejected) == ["provider invalid_grant"])
        try await fixture.advance(by: 1)
        #expect(try await fixture.session(try await fixture.consent(provider)).identity?.authorization == .active)
        #expect(try await fixture.grants(provider).map(\.isLive) == [false, true])
        #expect(try await fixture.checks.checkDue() == 0)
    }

    @Test(arguments: Provider.allCases)
    func `a code that could not wait is exchanged, and its grant checked once the revocation is done`(
        provider: Provider
    ) async throws {
        try await Self.deletedDuringOutage(provider, in: fixture)
        let back = try await fixture.account(provider)
        #expect(back.identity?.authorization == .active)
        #expect(try await fixture.revocationRows().map(\.status) == ["pending"])
        // It lives for now, and that says nothing about afterwards.
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.checks.checkDue() == 0)

        try await fixture.endOutage()
        #expect(try await fixture.revocationRows().map(\.status) == ["done"])
        #expect(try await fixture.grants(provider).map(\.endedBy) == [.revoke, .revoke])

        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(back.identity) == "revoked")
        // The revocation was about what was authorized before: who has come back stays signed in.
        _ = try await fixture.opened(back)
        #expect(try await fixture.audited(.authorizationRevoked) == ["service own_revocation"])
        #expect(try await fixture.count("provider_grants") == 0)
        // The account is there, and so is the way in.
        let again = try await fixture.session(try await fixture.consent(provider))
        #expect(again.account.id == back.account.id)
        #expect(again.identity?.authorization == .active)
    }

    @Test func `a check that comes days after the revocation leaves who came back signed in, too`() async throws {
        try await Self.deletedDuringOutage(.apple, in: fixture)
        let back = try await fixture.account(.apple)
        try await fixture.endOutage()
        // It may mean a withdrawal, and counts the second time.
        let doubt = #"{"error":"invalid_request"}"#
        try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(.apple), .status(400, body: doubt))
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(back.identity) == "active")
        try await fixture.advance(by: 2 * GrantCheckWorker.interval)
        while try await fixture.sweeper.sweep() > 0 {}
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(back.identity) == "revoked")
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
        #expect(try await fixture.audited(.authorizationRevoked) == ["service own_revocation"])
        // Nothing is left to judge by it.
        while try await fixture.sweeper.sweep() > 0 {}
        #expect(try await fixture.count("outbox WHERE subject IS NOT NULL") == 0)
    }

    @Test(arguments: Provider.allCases)
    func `so is the grant of a code that came alone, before anybody knew whose it is`(provider: Provider) async throws {
        try await Self.deletedDuringOutage(provider, in: fixture)
        try await fixture.sandbox.clearFaults()
        let ticket = try await fixture.ticket(try await fixture.consent(provider), .code)
        try await fixture.advance(by: 10)
        try await fixture.revokeDue()
        // A ticket's grant is checked as soon as it is an identity's.
        #expect(try await fixture.checks.checkDue() == 0)
        let back = try await fixture.create(ticket)
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(back.identity) == "revoked")
    }

    @Test(.appAndWeb) func `a grant that outlives the revocation stays`() async throws {
        try await Self.deletedDuringOutage(.apple, in: fixture)
        let web = try await fixture.consent(.apple, appleClient: LifeCycleFixture.webClient)
        let back = try await fixture.create(try await fixture.ticket(web))
        try await fixture.endOutage()
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(back.identity) == "active")
        _ = try await fixture.opened(back)
        #expect(try await fixture.grants(.apple, clientID: LifeCycleFixture.webClient).map(\.checks) == [1])
    }

    @Test func `a grant is checked too whose revocation ended while it was on its way`() async throws {
        let account = try await fixture.account(.apple)
        let key = try #require(account.identity?.key)
        try await fixture.deleteAccount(account)
        // The exchange is answered now; the revocation is carried out before its grant is kept.
        let exchangedAt = fixture.clock.now()
        try await fixture.advance(by: 1)
        try await fixture.revokeDue()
        let back = try await fixture.create(try await fixture.ticket(try await fixture.consent(.apple), .token))
        let grant = NewGrant(
            clientID: ProviderClientID(LifeCycleFixture.appleClient), refreshToken: "dead by now",
            exchangedAt: exchangedAt, checkAt: exchangedAt.advanced(bySeconds: 86_400))
        #expect(try await fixture.storage.grants.keep(grant, for: key, by: .at(fixture.clock.now())))
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(back.identity) == "revoked")
    }

    @Test func `a revocation of who has come back is not that of the account they had, and each is announced`()
        async throws
    {
        let gone = try await Self.deletedDuringOutage(.apple, in: fixture)
        try await fixture.advance(by: 1)
        // Without a code nothing is held of the new identity.
        let back = try await fixture.create(try await fixture.ticket(try await fixture.consent(.apple), .token))
        let id = try #require(back.identity).id
        try await fixture.forgetEvents()
        let revocation = try await fixture.administered().revoke(id, unlinking: false, reason: "case 7")
        #expect(revocation.identityID == id && revocation.status == .done)
        #expect(revocation.lastError == Revocation.noGrant)
        #expect(try await fixture.authorization(back.identity) == "revoked")
        #expect(try await fixture.announced(of: back.account.id).contains("authorization.revoked apple"))
        #expect(try await fixture.announced(of: gone.account.id) == [])
        #expect(try await fixture.revocationRows().map(\.status) == ["pending", "done"])
        try await fixture.endOutage()
        #expect(try await fixture.revocationRows().map(\.status) == ["done", "done"])
        #expect(try await fixture.announced(of: gone.account.id) == ["authorization.revoked apple"])
    }

    /// Each sign-in of the person tries the pending revocation first.
    @Test func `what sign-ins set off does not use up what the schedule allows`() async throws {
        try await Self.deletedDuringOutage(.apple, in: fixture)
        let before = try await fixture.revocationRows()[0]
        for number in 1...3 {
            _ = try await fixture.ticket(try await fixture.consent(.apple))
            let row = try await fixture.revocationRows()[0]
            #expect(row.attempts == before.attempts + Int32(number))
            #expect(row.nextAttemptAt == before.nextAttemptAt)
            #expect(row.status == "pending")
        }
        // The next one that fails by the schedule is the second: two seconds.
        try await fixture.move(to: before.nextAttemptAt)
        #expect(try await fixture.revocations.attemptDue(at: .apple) == 1)
        let pause = try await fixture.revocationRows()[0].nextAttemptAt.microseconds - fixture.clock.now().microseconds
        #expect((1_600_000...2_400_000).contains(pause))
    }

    @Test func `a sign-in without a code does not touch what is pending`() async throws {
        try await Self.deletedDuringOutage(.apple, in: fixture)
        try await fixture.sandbox.clearFaults()
        _ = try await fixture.ticket(try await fixture.consent(.apple), .token)
        #expect(try await fixture.revocationRows().map(\.attempts) == [1])
    }

    @Test(.noFixture(LifeCycleFixture.self))
    func `a revocation that hangs does not keep who comes back waiting`() async throws {
        // The code itself has a minute; what revocations may take of it is as ever.
        func lengthen(_ configuration: inout SignInService.Configuration) {
            configuration.codeExchangeTimeout.besideToken = .seconds(60)
        }
        // A machine that pauses may be late once; the revocation itself takes ten seconds to end.
        let isInTime = try await onceOfThree {
            var duration = Duration.zero
            try await LifeCycleFixture.run(hasLongTimeouts: false, configure: lengthen) { fixture in
                try await Self.deletedDuringOutage(.apple, in: fixture)
                try await fixture.sandbox.clearFaults()
                try await fixture.sandbox.fail("/apple/auth/revoke", .hang)
                let consent = try await fixture.consent(.apple)
                duration = try await ContinuousClock().measure { _ = try await fixture.ticket(consent) }
                #expect(try await fixture.tokenRequests(of: consent).map(\.status) == [200])
            }
            return duration < .seconds(9)
        }
        #expect(isInTime)
    }
}
