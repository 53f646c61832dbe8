import Accounts
import Providers
import SignIn
import TestSupport
import Testing

/// Codes of anybody's making: how many reach a provider, of those that no verified token vouches for.
@Suite struct JunkCodeTests {
    var fixture: LifeCycleFixture { .current }

    private static let network: Network = "192.0.2.0/24"

    private static func junk(
        _ provider: Provider, _ index: Int = 0, beside token: String = ""
    ) -> LifeCycleFixture.Consent { .init(provider: provider, token: token, code: "c0ffee.invented.\(index)") }

    /// Signs in from the network.
    private func post(
        _ consent: LifeCycleFixture.Consent, _ evidence: LifeCycleFixture.Evidence = .code, nonce: String? = nil
    ) async throws -> SignInAnswer { try await fixture.signIn(consent, evidence, nonce: nonce, from: Self.network) }

    private func requests(to provider: Provider) async throws -> Int {
        try await fixture.sandbox.history(path: LifeCycleFixture.tokenPath(provider)).count
    }

    // MARK: By network

    @Test(.limited(3), arguments: Provider.allCases, [LifeCycleFixture.Evidence.code, .both])
    func `a network whose codes were refused as often as it may waits, and nothing more is sent`(
        provider: Provider, evidence: LifeCycleFixture.Evidence
    ) async throws {
        let reason = evidence == .code ? "code_rejected" : "malformed"
        for index in 0..<3 { try await expectFailure(reason) { try await post(Self.junk(provider, index), evidence) } }
        let good = try await fixture.consent(provider)
        for posted in [Self.junk(provider, 3), good] {
            await expectFailure(.rateLimited(.junkCodesPerNetwork, retryAfter: 300)) { try await post(posted) }
        }
        #expect(try await requests(to: provider) == 3)
        try await fixture.service.refusals.flush()
        #expect(try await fixture.audited(.rateLimited) == ["person junkCodesPerNetwork"])

        // Neither other networks nor tokens wait, nor do codes beside tokens that verify.
        _ = try await fixture.signIn(try await fixture.consent(provider), .code, from: "198.51.100.0/24")
        _ = try await post(good, .token)
        let token = try await fixture.consent(provider, token: .init(withoutClaims: ["c_hash"])).token
        for _ in 0..<5 { _ = try await post(Self.junk(provider, 4, beside: token), .both) }
        #expect(try await requests(to: provider) == 3 + 1 + 5)

        try await fixture.advance(by: 300)
        _ = try await post(try await fixture.consent(provider))
    }

    @Test(.limited(1), arguments: Provider.allCases)
    func `a code that the provider has not refused is not counted`(provider: Provider) async throws {
        for _ in 0..<3 { _ = try await post(try await fixture.consent(provider)) }
        // Faults of the provider, of its identity token, and of our key.
        try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(provider), .status(429))
        for _ in 0..<3 { try await expectFailure("providerUnavailable") { try await post(Self.junk(provider)) } }
        try await fixture.sandbox.clearFaults()
        let other = try await fixture.consent(provider, nonce: "another")
        try await expectFailure("nonce_mismatch") { try await post(other, nonce: "mine") }
        try await fixture.refuseKey(of: provider)
        for _ in 0..<3 { try await expectFailure("providerUnavailable") { try await post(Self.junk(provider)) } }
        #expect(try await requests(to: provider) == 10)
    }

    @Test(.limited(2))
    func `a code that our key is refused beside counts if its redirectUri may be why`() async throws {
        try await fixture.refuseKey(of: .apple)
        for index in 0..<2 {
            try await expectFailure("providerUnavailable") {
                try await fixture.signIn(
                    Self.junk(.apple, index), .code, redirectURI: LifeCycleFixture.redirectURI, from: Self.network)
            }
        }
        try await expectFailure("rateLimited") { try await post(Self.junk(.apple)) }
    }

    @Test(.limited(3), arguments: Provider.allCases)
    func `of codes that come at once no more are sent than may be refused`(provider: Provider) async throws {
        let outcomes = try await race(8) { try await post(Self.junk(provider, $0)) }
        #expect(outcomes == ["code_rejected": 3, "rateLimited": 5])
        #expect(try await requests(to: provider) == 3)
    }

    @Test(.limited(2)) func `linking in a session counts with signing in`() async throws {
        let account = try await fixture.account(.google)
        let session = try await fixture.opened(account)
        @Sendable func link(_ index: Int) async throws -> Identity {
            let junk = Self.junk(.apple, index)
            return try await fixture.service.linking.link(
                .apple, .init(code: junk.code), to: session, by: fixture.call(by: fixture.caller(from: Self.network)))
        }
        try await expectFailure("code_rejected") { try await link(0) }
        try await expectFailure("code_rejected") { try await post(Self.junk(.apple, 1)) }
        try await expectFailure("rateLimited") { try await link(2) }
    }

    @Test(.limited(1), arguments: Provider.allCases)
    func `the networks of a wide one have twenty times as many between them`(provider: Provider) async throws {
        for index in 0...20 {
            try await expectFailure(index < 20 ? "code_rejected" : "rateLimited") {
                try await fixture.signIn(
                    Self.junk(provider, index), .code, from: "2001:db8:1:\(index)::/64", of: "2001:db8:1::/48")
            }
        }
        #expect(try await requests(to: provider) == 20)
        // Nothing was counted for the network by that.
        try await expectFailure("code_rejected") {
            try await fixture.signIn(Self.junk(provider, 21), .code, from: "2001:db8:1:20::/64")
        }
    }

    // MARK: By person

    @Test(.limited(5, .refusedCodesPerIdentity), arguments: Provider.allCases)
    func `a person whose codes were refused beside good tokens signs in by the token, and nothing more is sent`(
        provider: Provider
    ) async throws {
        _ = try await fixture.account(provider)
        let token = try await fixture.consent(provider, token: .init(withoutClaims: ["c_hash"])).token
        let sent = try await requests(to: provider)
        for index in 0..<40 {
            let junk = Self.junk(provider, index, beside: token)
            _ = try await fixture.signIn(junk, from: "192.0.\(index).0/24").session
        }
        #expect(try await requests(to: provider) == sent + 5)
        // Another person's are sent, and so are this one's after a while.
        _ = try await fixture.account(provider, "ada")
        #expect(try await requests(to: provider) == sent + 6)
        try await fixture.advance(by: 180)
        _ = try await fixture.signIn(try await fixture.consent(provider)).session
        #expect(try await requests(to: provider) == sent + 7)
    }

    @Test(.limited(2, .refusedCodesPerIdentity), arguments: Provider.allCases)
    func `for a code that is not sent no revocation is attempted either`(provider: Provider) async throws {
        let account = try await fixture.account(provider)
        try await fixture.sandbox.fail(LifeCycleFixture.revokePath(provider), .status(503))
        try await fixture.deleteAccount(account)
        let token = try await fixture.consent(provider, token: .init(withoutClaims: ["c_hash"])).token
        for index in 0..<10 { _ = try await fixture.signIn(Self.junk(provider, index, beside: token)).ticket }
        let asked = try await fixture.sandbox.history(method: "POST").map(\.path)
        #expect(asked.count { $0 == LifeCycleFixture.revokePath(provider) } == 2)
    }

    @Test(.limited(1, .refusedCodesPerIdentity), arguments: Provider.allCases)
    func `good codes beside tokens are not counted, nor what a provider does not answer`(provider: Provider)
        async throws
    {
        _ = try await fixture.account(provider)
        let sent = try await requests(to: provider)
        try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(provider), .status(429))
        for _ in 0..<3 { _ = try await fixture.signIn(try await fixture.consent(provider)).session }
        try await fixture.sandbox.clearFaults()
        for _ in 0..<3 { _ = try await fixture.signIn(try await fixture.consent(provider)).session }
        #expect(try await requests(to: provider) == sent + 6)
    }

    // MARK: Under way

    @Test(.fixture(LifeCycleFixture.self), arguments: Provider.allCases)
    func `a network has a quarter of the codes that wait for a provider, and a wide one half`(provider: Provider)
        async throws
    {
        let share = CodesUnderWay.limit / 4
        let path = LifeCycleFixture.tokenPath(provider)
        let consent = try await fixture.consent(provider)
        try await fixture.sandbox.fail(path, .hang, times: 2 * share)
        try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<2 * share {
                group.addTask {
                    try await failure {
                        try await fixture.signIn(
                            Self.junk(provider, index), .code, from: "2001:db8:1:\(index / share)::/64",
                            of: "2001:db8:1::/48")
                    }
                }
                let hanging = try await fixture.sandbox.history(path: path, count: index + 1, wait: 60)
                try #require(hanging.count == index + 1)
                guard index + 1 == share else { continue }
                await expectFailure(.overloaded(retryAfter: 1)) {
                    try await fixture.signIn(consent, .code, from: "2001:db8:1:0::/64", of: "2001:db8:1::/48")
                }
            }
            await expectFailure(.overloaded(retryAfter: 1)) {
                try await fixture.signIn(consent, .code, from: "2001:db8:1:2::/64", of: "2001:db8:1::/48")
            }
            _ = try await fixture.signIn(consent, .code, from: "192.0.2.0/24", of: "192.0.0.0/16")
            group.cancelAll()
            for try await outcome in group { #expect(outcome == "providerUnavailable") }
        }
    }

    @Test(.fixture(LifeCycleFixture.self), arguments: Provider.allCases)
    func `where a person's codes wait beside tokens, the next token signs in alone and at once`(provider: Provider)
        async throws
    {
        _ = try await fixture.account(provider)
        let path = LifeCycleFixture.tokenPath(provider)
        let before = try await requests(to: provider)
        let token = try await fixture.consent(provider, token: .init(withoutClaims: ["c_hash"])).token
        try await fixture.sandbox.fail(path, .hang, times: 2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<2 {
                group.addTask { _ = try? await fixture.signIn(Self.junk(provider, index, beside: token)) }
            }
            let hanging = try await fixture.sandbox.history(path: path, count: before + 2, wait: 60)
            try #require(hanging.count == before + 2)
            for index in 2..<10 { _ = try await fixture.signIn(Self.junk(provider, index, beside: token)).session }
            #expect(try await requests(to: provider) == before + 2)
            // Another person has places of their own.
            _ = try await fixture.account(provider, "ada")
            #expect(try await requests(to: provider) == before + 3)
            group.cancelAll()
        }
    }

    @Test(.fixture(LifeCycleFixture.self), arguments: Provider.allCases)
    func `so many codes wait for a provider, and one more is not sent`(provider: Provider) async throws {
        let path = LifeCycleFixture.tokenPath(provider)
        let consent = try await fixture.consent(provider)
        let beside = try await fixture.consent(provider, "ada")
        let elsewhere = try await fixture.consent(provider == .apple ? .google : .apple)
        try await fixture.sandbox.fail(path, .hang, times: CodesUnderWay.limit)
        try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<CodesUnderWay.limit {
                group.addTask { try await failure { try await fixture.signIn(Self.junk(provider, index), .code) } }
            }
            let hanging = try await fixture.sandbox.history(path: path, count: CodesUnderWay.limit, wait: 60)
            try #require(hanging.count == CodesUnderWay.limit)
            await expectFailure(.overloaded(retryAfter: 1)) { try await fixture.signIn(consent, .code) }
            #expect(try await fixture.tokenRequests(of: consent).isEmpty)
            // What a token vouches for goes on, and so does the other provider.
            _ = try await fixture.ticket(beside)
            #expect(try await fixture.tokenRequests(of: beside).map(\.status) == [200])
            _ = try await fixture.ticket(elsewhere, .code)
            group.cancelAll()
            for try await outcome in group { #expect(outcome == "providerUnavailable") }
        }
        // The code was not used up by the refusal.
        _ = try await fixture.ticket(consent, .code)
    }
}

extension Trait where Self == FixtureTrait<LifeCycleFixture> {
    /// So many refused codes in a quarter of an hour.
    fileprivate static func limited(_ count: Int, _ kind: LimitKind = .junkCodesPerNetwork) -> Self {
        .fixture { body in
            try await LifeCycleFixture.run(configure: { $0.limits = [kind: .limit(count: count, seconds: 900)] }, body)
        }
    }
}
