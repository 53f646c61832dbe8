import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// Token endpoints that fail. The keys are cached: a token alone needs nothing of the provider.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct TokenEndpointOutageTests: WorldSuite {
    @Test(.world, arguments: Sandbox.Provider.allCases)
    func `a good token signs in beside a token endpoint that fails, and a code alone is to be retried`(
        provider: Sandbox.Provider
    ) async throws {
        let faults: [(name: String, fault: Sandbox.Fault)] = [("failing", .status(500)), ("lost", .lost)]
        for (name, fault) in faults {
            try await world.sandbox.fail(provider.tokenPath, fault)
            // The token suffices for a new person, and no authorization results.
            try await world.newPerson(name)
            let both = try await world.authorize(name, provider).both
            let signedIn = try await service.signIn(provider, both).expecting(200)
            let ticket = try signedIn.linkTicket()
            let created = try await service.create(ticket).expecting(201)
            #expect(try created.text("identity.authorization") == "none")
            // A code alone can't be verified, and the answer says when to retry.
            let alone = try await service.signIn(provider, try await world.authorize(name, provider).codeAlone)
            alone.expectRefusal(503, "provider_unavailable", retryAfter: 1...60)

            // The first code after an outage works: the service itself has nothing to recover.
            try await world.sandbox.clearFaults()
            let after = try await service.signIn(provider, try await world.authorize(name, provider).codeAlone)
            #expect(after.status == 200, "\(after.text)")
            #expect(try after.text("identity.authorization") == "active")
        }
        for provider in Sandbox.Provider.allCases {
            // None was sent twice.
            #expect(try await world.exchanges(provider).values.allSatisfy { $0 == 1 }, "\(provider)")
        }
        // Three codes for each fault; the two that were lost are not tried again.
        #expect(try await world.exchanges(provider).count == 3 * faults.count)
    }

    // MARK: Our own key

    private static let redirectURI = "https://app.example.com/apple"

    private func expectClientRejected(
        _ provider: Sandbox.Provider, key: String, redirectURI: String? = nil, _ world: World,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let rejected = ("countersign_code_exchanges_total", "provider=\"\(provider)\"", "outcome=\"client_rejected\"")
        let before = try await world.service.metric(rejected.0, rejected.1, rejected.2)
        try await world.newPerson("\(provider)-person")
        // The code says nothing about the token beside it, and the person gets no authorization.
        let both = try await world.authorize("\(provider)-person", provider).both
            .with("redirectUri", redirectURI.map { .string($0) })
        let beside = try await world.create(of: try await world.service.signIn(provider, both))
        #expect(try beside.text("identity.authorization") == "none", sourceLocation: location)
        let code = try await world.authorize("\(provider)-person", provider).codeAlone
        let alone = try await world.service.signIn(provider, code)
        alone.expectRefusal(503, "provider_unavailable", retryAfter: 1..., sourceLocation: location)
        for answer in [beside, alone] { #expect(!answer.text.contains(key), sourceLocation: location) }
        let after = try await world.service.metric(rejected.0, rejected.1, rejected.2)
        #expect(after - before == 2, sourceLocation: location)
        // One line a minute for each key. The lines of a request come before its own.
        _ = try await world.service.logged(try #require(alone.header("X-Request-Id")))
        let lines = try world.service.logLines().filter {
            $0["message"]?.string?.hasPrefix("client credentials refused") == true
                && $0["provider"]?.string == provider.rawValue
        }
        #expect(lines.map { $0["level"]?.string } == ["error"], sourceLocation: location)
        #expect(lines.first?["key"]?.string == key, sourceLocation: location)
        #expect(lines.first?["redirectUri"]?.string == redirectURI, sourceLocation: location)
    }

    @Test(.world(["apple.redirectUris": redirectURI]))
    func `a key that the provider refuses stops no token and any code alone, and the log says why`() async throws {
        try await world.sandbox.revokeAppleKey(team: World.appleTeam, keyID: World.appleKeyID)
        try await expectClientRejected(.apple, key: World.appleKeyID, redirectURI: Self.redirectURI, world)
        try await world.sandbox.deleteGoogleClient(Countersign.googleClient)
        try await expectClientRejected(.google, key: Countersign.googleClient, world)
        for provider in Sandbox.Provider.allCases {
            #expect(try await world.exchanges(provider).values.allSatisfy { $0 == 1 }, "\(provider)")
        }

        try await World.registerClients(at: world.sandbox)
        try await world.newGrantedAccount("kim")
        try await world.newGrantedAccount("lee", .google)
    }

    @Test(.world) func `a code of another client of Google's counts as refused, and the log has it`() async throws {
        let other = "elsewhere-web.apps.googleusercontent.com"
        try await world.sandbox.registerGoogleClient(other, secret: "elsewhere")
        try await world.newPerson("kim")
        let code = try await world.sandbox.authorizeGoogle("kim", clientID: other).serverAuthCode
        let answer = try await service.signIn(.google, ["serverAuthCode": .string(code)])
        answer.expectRefusal(503, "provider_unavailable", retryAfter: 1...)
        func count(_ outcome: String) async throws -> Double {
            try await service.metric(
                "countersign_code_exchanges_total", #"provider="google""#, "outcome=\"\(outcome)\"")
        }
        #expect(try await [count("refused"), count("client_rejected")] == [1, 0])
        _ = try await service.logged(try #require(answer.header("X-Request-Id")))
        let lines = try service.logLines().filter {
            $0["message"]?.string?.hasPrefix("client credentials refused") == true
        }
        #expect(lines.map { $0["error"]?.string } == ["unauthorized_client"])
    }

    // MARK: Load

    @Test(.world(["postgres.poolSize": "2", "server.trustedProxies": "127.0.0.1"]))
    func `calls that hang at the provider cost other requests neither a connection nor a wait`() async throws {
        let access = try await world.newGrantedAccount("kim").bearer()
        let token = try await world.authorize("kim").tokenAlone
        // The calls are given up after ten seconds, which a busy machine may need for the others once.
        let isInTime = try await onceOfThree { try await answersBesideHangingCalls(access, token) }
        #expect(isInTime, "the calls that hang ended before those that don't")
    }

    /// Whether other requests were answered while calls hung at the provider.
    private func answersBesideHangingCalls(_ access: String, _ token: TokenMint.Members) async throws -> Bool {
        var codes: [World.Credential] = []
        for number in 0..<24 {
            let name = "waiting-\(number)"
            try await world.newPerson(name)
            codes.append(try await world.authorize(name))
        }
        let leaving = try await world.newGrantedAccount("lee-\(UUID().uuidString.lowercased())")
        let exchanges = try await world.sandbox.history(path: "/apple/auth/token").count
        let revocations = try await world.sandbox.history(path: "/apple/auth/revoke").count
        try await world.sandbox.fail("/apple/auth/token", .hang)
        try await world.sandbox.fail("/apple/auth/revoke", .hang)

        return try await withThrowingTaskGroup(of: Int?.self) { group in
            // No network has more than a quarter of the places.
            for (index, code) in codes.enumerated() {
                group.addTask {
                    try await service.post(
                        "/v1/sign-in/apple", code.codeAlone, headers: [("X-Forwarded-For", "192.\(index / 4).2.7")]
                    ).status
                }
            }
            try await service.delete("/v1/account", bearer: try leaving.bearer()).expecting(202)
            for (path, count) in [
                ("/apple/auth/token", exchanges + codes.count), ("/apple/auth/revoke", revocations + 1),
            ] {
                #expect(try await world.sandbox.history(path: path, count: count, wait: 60).count >= count, "\(path)")
            }

            // Two connections for all of them: one that an outgoing call held would be missing here at once.
            try await eventually("every connection to be free") {
                try await world.count(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND state LIKE 'idle in transaction%'
                        AND state_change < now() - interval '200 ms'
                    """) == 0
            }
            for _ in 0..<5 {
                #expect(try await service.signIn(.apple, token).status == 200)
                try await eventually("readiness") { try await service.isReady() }
                #expect(try await service.get("/v1/account", bearer: access).status == 200)
            }
            group.addTask { nil }
            let isInTime = try await group.next() == .some(nil)
            try await world.sandbox.clearFaults()
            let statuses = try await group.reduce(into: [Int]()) { if let status = $1 { $0.append(status) } }
            #expect(statuses.count == codes.count || !isInTime)
            #expect(statuses.allSatisfy { $0 == 503 }, "\(statuses)")
            return isInTime
        }
    }
}
