import JSON
import SignIn
import TestSupport
import Testing

/// Tokens and codes that come together, and codes of anybody's making, as a real process answers them.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct EitherCheckTests: WorldSuite {
    private static let junk: TokenMint.Members = ["authorizationCode": "c0ffee.invented"]

    @Test func `a good code signs in beside a token that does not verify, and the log says what was wrong with that`()
        async throws
    {
        for provider in Sandbox.Provider.allCases {
            let created = try await world.newGrantedAccount("kim-\(provider)", provider)
            let late = try await world.authorize("kim-\(provider)", provider, token: .init(expired: true))
            let answer = try await service.signIn(provider, late.both).expecting(200)
            #expect(try answer.accountID() == created.accountID())
            var lines: [JSONValue] = []
            try await eventually("the line about the token") {
                lines = try service.logLines().filter {
                    $0["message"]?.string == "token refused, code tried instead"
                        && $0["requestId"]?.string == answer.header("X-Request-Id")
                }
                return !lines.isEmpty
            }
            #expect(lines.map { $0["reason"]?.string } == ["expired"])
            #expect(lines.first?["provider"]?.string == provider.rawValue)
            // The code is spent, and two refusals look like one.
            let again = try await service.signIn(provider, late.both)
            let alone = try await service.signIn(provider, late.tokenAlone)
            again.expectRefusal(401, "invalid_token")
            #expect(again.withoutRequestID == alone.withoutRequestID)
        }
    }

    @Test(.world(["limits.junkCodesPerNetwork": "2/15min", "server.trustedProxies": "127.0.0.1"]))
    func `a network that posts made-up codes waits as long as the answer says, and tokens do not`() async throws {
        func post(_ members: TokenMint.Members, from address: String = "192.0.2.7") async throws -> Answer {
            try await service.post("/v1/sign-in/apple", members, headers: [("X-Forwarded-For", address)])
        }
        for _ in 0..<2 { #expect(try await post(Self.junk).code == "invalid_token") }
        try await post(Self.junk, from: "192.0.2.200").expectRefusal(429, "rate_limited", retryAfter: 1...450)
        #expect(try await world.exchanges().values.reduce(0, +) == 2)
        #expect(try await service.metric("countersign_limit_refusals_total", #"limit="junkCodesPerNetwork""#) == 1)
        let signIns = try await service.metric(
            "countersign_sign_ins_total", #"provider="apple""#, #"reason="junkCodesPerNetwork""#)
        #expect(signIns == 1)

        #expect(try await post(Self.junk, from: "198.51.100.7").status == 401)
        try await world.newPerson("kim")
        let kim = try await world.authorize("kim")
        #expect(try await post(kim.tokenAlone).status == 200)
        #expect(try await post(kim.both).status == 200)
    }

    @Test(.world(["limits.junkCodesPerNetwork": "0", "server.trustedProxies": "127.0.0.1"]))
    func `codes beyond those that wait for the provider are not sent, and may come again`() async throws {
        try await world.newPerson("kim")
        // The calls are given up after ten seconds, which a busy machine may need for the others once.
        let isInTime = try await onceOfThree { try await refusesCodeBesideHangingCalls() }
        #expect(isInTime, "the calls that hang ended before those that don't")
    }

    /// Whether a code was refused while others hung at the provider in all places.
    private func refusesCodeBesideHangingCalls() async throws -> Bool {
        let code = try await world.authorize("kim").codeAlone
        let exchanges = try await world.sandbox.history(path: "/apple/auth/token").count
        let notSent = try await codesNotSent()
        try await world.sandbox.fail("/apple/auth/token", .hang, times: CodesUnderWay.limit)
        return try await withThrowingTaskGroup(of: Int.self) { group in
            // No network has more than a quarter of the places.
            for index in 0..<CodesUnderWay.limit {
                group.addTask {
                    try await service.post(
                        "/v1/sign-in/apple", Self.junk, headers: [("X-Forwarded-For", "192.\(index / 4).2.7")]
                    ).status
                }
            }
            let hanging = try await world.sandbox.history(
                path: "/apple/auth/token", count: exchanges + CodesUnderWay.limit, wait: 60)
            try #require(hanging.count == exchanges + CodesUnderWay.limit)
            let refused = try await service.signIn(.apple, code)
            group.addTask { 0 }
            let isInTime = try await group.next() == 0
            try await world.sandbox.clearFaults()
            let statuses = try await group.reduce(into: [Int]()) { $0.append($1) }
            guard isInTime else { return false }
            refused.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...1)
            #expect(statuses == Array(repeating: 503, count: CodesUnderWay.limit))
            #expect(try await codesNotSent() == notSent + 1)
            try await service.signIn(.apple, code).expecting(200)
            return true
        }
    }

    private func codesNotSent() async throws -> Double {
        try await service.metric("countersign_code_exchanges_total", #"provider="apple""#, #"outcome="not_sent""#)
    }
}
