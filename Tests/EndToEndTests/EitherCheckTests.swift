import JSON
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

    @Test(
        .world([
            "limits.junkCodesPerNetwork": "2/15min", "limits.refusedCodesPerIdentity": "1/15min",
            "server.trustedProxies": "127.0.0.1",
        ]))
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

        // Nor do they beside a code that is not sent, since their person's last one was refused.
        let token = try await world.authorize("kim", token: .init(withoutClaims: ["c_hash"])).tokenAlone
        for _ in 0..<2 { #expect(try await post(token.with("authorizationCode", "c0ffee.invented")).status == 200) }
        let notSent = try await service.metric(
            "countersign_code_exchanges_total", #"provider="apple""#, #"outcome="not_sent""#)
        #expect(notSent == 1)
    }
}
