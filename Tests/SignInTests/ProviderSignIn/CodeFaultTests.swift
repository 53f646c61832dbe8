import Accounts
import Postgres
import Providers
import SignIn
import TestSupport
import Testing

/// Faults of a token endpoint. They leave unknown whether a code was used up, so whatever happens it is sent once.
@Suite(.fixture(LifeCycleFixture.self)) struct CodeFaultTests {
    var fixture: LifeCycleFixture { .current }

    /// One of each kind. `TokenExchangeFaultTests` has every fault that a provider's answer can have.
    struct EndpointFault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var fault: Sandbox.Fault?
        var afterwards = false
        var exchange = Sandbox.ExchangeChanges()

        static let all = [
            EndpointFault(testDescription: "reset", fault: .reset),
            EndpointFault(testDescription: "answer lost", fault: .lost),
            EndpointFault(testDescription: "500 after the exchange", fault: .status(500), afterwards: true),
            EndpointFault(testDescription: "no ID token", exchange: .init(omitsIDToken: true)),
        ]

        func begin(at provider: Provider, in fixture: LifeCycleFixture) async throws {
            guard let fault else { return }
            try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(provider), fault, afterwards: afterwards)
        }
    }

    @Test(arguments: Provider.allCases, EndpointFault.all)
    func `while the token endpoint fails a token signs in, and a code alone does not`(
        provider: Provider, endpointFault: EndpointFault
    ) async throws {
        // The connection is a kept one, over which a client may be tempted to repeat what got no answer.
        let created = try await fixture.account(provider)
        let consents = [
            try await fixture.consent(provider, exchange: endpointFault.exchange),
            try await fixture.consent(provider, "ada", exchange: endpointFault.exchange),
            try await fixture.consent(provider, exchange: endpointFault.exchange),
        ]
        try await endpointFault.begin(at: provider, in: fixture)

        let known = try await fixture.session(consents[0])
        #expect(known.account.id == created.account.id)
        // What an earlier code brought is not lost.
        #expect(known.identity?.authorization == .active)
        let newcomer = try await fixture.create(try await fixture.ticket(consents[1]))
        #expect(newcomer.identity?.authorization == Identity.Authorization.none)
        try await expectFailure("providerUnavailable") { try await fixture.signIn(consents[2], .code) }

        for consent in consents { #expect(try await fixture.tokenRequests(of: consent).count == 1) }
        #expect(try await fixture.count("provider_grants") == 1)
        #expect(try await fixture.audited(.codeRejected).isEmpty)
    }

    @Test(.noFixture(LifeCycleFixture.self), .timeLimit(.minutes(15)), arguments: Provider.allCases)
    func `beside a token nobody waits long for a token endpoint that hangs`(provider: Provider) async throws {
        // Two seconds, and what a busy machine adds, which may be late once; alone it would be ten.
        let isInTime = try await onceOfThree {
            var duration = Duration.zero
            try await LifeCycleFixture.run(hasLongTimeouts: false) { fixture in
                _ = try await fixture.create(try await fixture.ticket(try await fixture.consent(provider), .token))
                let consent = try await fixture.consent(provider)
                try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(provider), .hang)
                let start = ContinuousClock.now
                let session = try await fixture.session(consent)
                duration = start.duration(to: .now)
                #expect(session.identity?.authorization == Identity.Authorization.none)
                #expect(try await fixture.tokenRequests(of: consent).count <= 1)
            }
            return duration < .seconds(9)
        }
        #expect(isInTime)
    }

    @Test(.fixture { try await LifeCycleFixture.run(hasLongTimeouts: false, $0) }, arguments: Provider.allCases)
    func `a code alone gives up on a token endpoint that hangs`(provider: Provider) async throws {
        let consent = try await fixture.consent(provider)
        try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(provider), .hang)
        try await expectFailure("providerUnavailable") { try await fixture.signIn(consent, .code) }
        #expect(try await fixture.tokenRequests(of: consent).count == 1)
    }

    @Test(arguments: Provider.allCases)
    func `once the endpoint is back the next code brings the grant`(provider: Provider) async throws {
        try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(provider), .status(503), times: 1)
        #expect(try await fixture.account(provider).identity?.authorization == Identity.Authorization.none)
        #expect(try await fixture.session(try await fixture.consent(provider)).identity?.authorization == .active)
    }
}
