import JOSE
import OpenSSL
import TestSupport
import Testing

/// One accepted token, of which each test changes one claim.
@Suite struct ClaimRulesTests {
    private static let now: Int64 = 1_767_225_600
    private static let issuer = "https://issuer.example"
    private static let audience = "com.example.app"

    private static let rules = ClaimRules(issuers: [issuer], audiences: [audience])

    private static let claims: TokenMint.Members = [
        "iss": .string(issuer), "aud": .string(audience), "sub": "001026.16112b36", "iat": .integer(now),
        "exp": .integer(now + 3_600),
    ]

    private static func verified(_ claims: TokenMint.Members) throws -> VerifiedToken {
        let mint = try TokenMint.shared
        return try UnverifiedToken(try mint.token(claims, by: .es256)).verified(by: mint.keySet)
    }

    private static func rejectionOf(
        _ name: String, _ value: TokenMint.Literal?, under rules: ClaimRules = rules, at time: Int64 = now
    ) throws -> TokenRejection? { rejection(of: try verified(claims.with(name, value)), under: rules, at: time) }

    @Test func `a token that keeps all rules is accepted`() throws {
        let checked = try Self.rules.check(try Self.verified(Self.claims), at: Self.now)
        #expect(checked.issuer == Self.issuer)
        #expect(checked.audience == Self.audience)
        #expect(checked.subject == "001026.16112b36")
        #expect(checked.tokenID == nil)
        #expect(checked.issuedAt == Self.now)
        #expect(checked.expiresAt == Self.now + 3_600)
    }

    @Test func `an unknown claim changes nothing`() throws {
        #expect(try Self.rejectionOf("acme", .raw("{\"a\":[null,1e400]}")) == nil)
    }

    @Test(arguments: ["iss", "aud", "exp", "iat", "sub"])
    func `a missing claim is named as missing`(name: String) throws {
        #expect(try Self.rejectionOf(name, nil) == .claimMissing)
    }

    @Test(arguments: ["iss", "exp", "iat", "nbf", "sub", "aud"])
    func `a claim of another type is named as invalid`(name: String) throws {
        for value: TokenMint.Literal in [.null, true, .raw("{}"), .raw("{\"a\":1}")] {
            #expect(try Self.rejectionOf(name, value) == .claimInvalid)
        }
    }

    // MARK: Issuer

    @Test(arguments: [
        "https://issuer.example/", "http://issuer.example", "https://ISSUER.example",
        "https://issuer.example.evil.example",
        "https://issuer.exampl", "", "https://account.apple.com",
    ])
    func `another issuer is refused`(issuer: String) throws {
        #expect(try Self.rejectionOf("iss", .string(issuer)) == .issuerRejected)
    }

    @Test func `an issuer is no array of issuers`() throws {
        #expect(try Self.rejectionOf("iss", [.string(Self.issuer)]) == .claimInvalid)
    }

    @Test func `each of several issuers is accepted, and none is when none is configured`() throws {
        var rules = Self.rules
        rules.issuers = ["https://issuer.example", "issuer.example"]
        #expect(try Self.rejectionOf("iss", "issuer.example", under: rules) == nil)
        #expect(try Self.rejectionOf("iss", .string(Self.issuer), under: rules) == nil)
        rules.issuers = []
        #expect(try Self.rejectionOf("iss", .string(Self.issuer), under: rules) == .issuerRejected)
    }

    @Test func `one slash at the end of an issuer is ignored only where the rules say so`() throws {
        var rules = Self.rules
        rules.ignoresIssuerTrailingSlash = true
        for (claim, configured, isAccepted) in [
            ("https://issuer.example/", "https://issuer.example", true),
            ("https://issuer.example", "https://issuer.example/", true),
            ("https://issuer.example/", "https://issuer.example/", true),
            ("https://issuer.example//", "https://issuer.example", false),
            ("https://issuer.example/a", "https://issuer.example", false),
            ("/", "https://issuer.example", false), ("", "/", true),
        ] {
            rules.issuers = [configured]
            #expect(try Self.rejectionOf("iss", .string(claim), under: rules) == (isAccepted ? nil : .issuerRejected))
        }
    }

    // MARK: Audience

    @Test(arguments: [
        "com.example.ap", "com.example.app2", "com.example.App", "COM.EXAMPLE.APP", "", "xcom.example.app",
        "com.example.app,other", "com.example.app\0",
    ])
    func `another audience is refused, be it ever so like ours`(audience: String) throws {
        #expect(try Self.rejectionOf("aud", .string(audience)) == .audienceRejected)
        #expect(try Self.rejectionOf("aud", [.string(audience)]) == .audienceRejected)
    }

    @Test func `an audience may be an array with us in it`() throws {
        #expect(try Self.rejectionOf("aud", [.string(Self.audience)]) == nil)
        #expect(try Self.rejectionOf("aud", ["other", .string(Self.audience)]) == nil)
        #expect(try Self.rejectionOf("aud", ["other", "another"]) == .audienceRejected)
        #expect(try Self.rejectionOf("aud", []) == .audienceRejected)
    }

    @Test func `an audience with anything but strings in it is invalid`() throws {
        #expect(try Self.rejectionOf("aud", 1) == .claimInvalid)
        #expect(try Self.rejectionOf("aud", [.string(Self.audience), 1]) == .claimInvalid)
        #expect(try Self.rejectionOf("aud", [.string(Self.audience), .null]) == .claimInvalid)
        #expect(try Self.rejectionOf("aud", [[.string(Self.audience)]]) == .claimInvalid)
    }

    @Test func `an audience has 16 members at most`() throws {
        let others = (1...16).map { "\"other \($0)\"" }
        let ours = "\"\(Self.audience)\""
        let array = { (members: [String]) in TokenMint.Literal.raw("[\(members.joined(separator: ","))]") }
        #expect(try Self.rejectionOf("aud", array(others.dropLast() + [ours])) == nil)
        #expect(try Self.rejectionOf("aud", array(others + [ours])) == .claimInvalid)
    }

    @Test func `an event's audience may be all clients of a project, 256 members at most`() throws {
        let rules = ClaimRules.securityEvent(issuers: [Self.issuer], audiences: [Self.audience])
        let event = Self.claims.with("events", .raw("{}")).with("jti", "1")
        let others = (1...256).map { "\"other \($0)\"" }
        let ours = "\"\(Self.audience)\""
        let judged = { (members: [String]) throws -> TokenRejection? in
            let token = try Self.verified(event.with("aud", .raw("[\(members.joined(separator: ","))]")))
            return rejection(of: token, under: rules, at: Self.now)
        }
        #expect(try judged(others.dropLast() + [ours]) == nil)
        #expect(try judged(others + [ours]) == .claimInvalid)
    }

    @Test func `every member of an audience must be ours where the rules say so`() throws {
        var rules = Self.rules
        rules.audiences = [Self.audience, "com.example.web"]
        rules.audienceArray = .everyMemberOurs
        let both: TokenMint.Literal = ["com.example.web", .string(Self.audience)]
        #expect(try Self.rejectionOf("aud", both, under: rules) == nil)
        #expect(
            try rules.check(Self.verified(Self.claims.with("aud", both)), at: Self.now).audience == "com.example.web")
        #expect(try Self.rejectionOf("aud", [.string(Self.audience), "other"], under: rules) == .audienceRejected)
        #expect(try Self.rejectionOf("aud", [], under: rules) == .audienceRejected)
        #expect(try Self.rejectionOf("aud", .string(Self.audience), under: rules) == nil)
    }

    @Test func `without a configured audience nothing is accepted`() throws {
        var rules = Self.rules
        rules.audiences = []
        for array in [ClaimRules.AudienceArray.anyOurs, .everyMemberOurs] {
            rules.audienceArray = array
            #expect(try Self.rejectionOf("aud", .string(Self.audience), under: rules) == .audienceRejected)
            #expect(try Self.rejectionOf("aud", [], under: rules) == .audienceRejected)
            #expect(try Self.rejectionOf("aud", "", under: rules) == .audienceRejected)
        }
    }

    // MARK: Times

    @Test func `a token lives until the second before its expiry and the leeway`() throws {
        let expiry = Self.now + 3_600
        #expect(try Self.rejectionOf("acme", 1, at: expiry + 59) == nil)
        #expect(try Self.rejectionOf("acme", 1, at: expiry + 60) == .expired)
        #expect(try Self.rejectionOf("acme", 1, at: expiry + 61) == .expired)
        var exact = Self.rules
        exact.leeway = 0
        #expect(try Self.rejectionOf("acme", 1, under: exact, at: expiry - 1) == nil)
        #expect(try Self.rejectionOf("acme", 1, under: exact, at: expiry) == .expired, "the instant itself is over")
    }

    @Test func `an expiry may have a fraction or an exponent`() throws {
        var exact = Self.rules
        exact.leeway = 0
        let isExpired = { (literal: String, time: Int64) in
            try Self.rejectionOf("exp", .raw(literal), under: exact, at: time) == .expired
        }
        #expect(try !isExpired("1767229200.5", 1_767_229_200))
        #expect(try isExpired("1767229200.5", 1_767_229_201))
        #expect(try isExpired("1767229200.0", 1_767_229_200))
        #expect(try !isExpired("1.7672292e9", 1_767_229_199))
        #expect(try isExpired("1.7672292e9", 1_767_229_200))
        #expect(try isExpired("1767229199.999999999", 1_767_229_200), "never rounded up")
        let checked = try exact.check(Self.verified(Self.claims.with("exp", .raw("1767229200.9"))), at: Self.now)
        #expect(checked.expiresAt == 1_767_229_200)
    }

    @Test(arguments: ["exp", "nbf", "iat"])
    func `a time that no clock shows is invalid`(name: String) throws {
        for literal in [
            "1e400", "1e300", "-1", "-1e-3", "253402300800", "9223372036854775808", "\"1767225600\"", "[1767225600]",
            "1e99999999999999999999",
        ] { #expect(try Self.rejectionOf(name, .raw(literal)) == .claimInvalid) }
    }

    @Test func `a token is not used before its time`() throws {
        #expect(try Self.rejectionOf("nbf", .integer(Self.now + 60)) == nil)
        #expect(try Self.rejectionOf("nbf", .raw("\(Self.now + 60).5")) == .notYetValid)
        #expect(try Self.rejectionOf("nbf", .integer(Self.now + 61)) == .notYetValid)
        #expect(try Self.rejectionOf("nbf", 0) == nil)
    }

    @Test func `a token of the future is refused`() throws {
        #expect(try Self.rejectionOf("iat", .integer(Self.now + 60)) == nil)
        #expect(try Self.rejectionOf("iat", .integer(Self.now + 61)) == .notYetValid)
        #expect(try Self.rejectionOf("iat", .raw("\(Self.now + 60).000001")) == .notYetValid)
        #expect(try Self.rejectionOf("iat", .integer(Self.now + 100_000_000)) == .notYetValid)
    }

    @Test func `a token lives a day and five minutes at most`() throws {
        #expect(try Self.rejectionOf("exp", .integer(Self.now + 86_700)) == nil)
        #expect(try Self.rejectionOf("exp", .integer(Self.now + 86_701)) == .lifetimeRejected)
        #expect(try Self.rejectionOf("exp", .raw("\(Self.now + 86_700).5")) == .lifetimeRejected)
        #expect(try Self.rejectionOf("exp", 253_402_300_799) == .lifetimeRejected)
        #expect(try Self.rejectionOf("iat", 0) == .lifetimeRejected)
        var unlimited = Self.rules
        unlimited.maximumLifetime = nil
        #expect(try Self.rejectionOf("exp", 253_402_300_799, under: unlimited) == nil)
    }

    @Test func `no clock makes the rules overflow`() throws {
        for time in [Int64.min, -1, 0, Int64.max] {
            let expected: TokenRejection = time == .max ? .expired : .notYetValid
            #expect(try Self.rejectionOf("acme", 1, at: time) == expected)
        }
    }

    // MARK: Subject, events, token id

    @Test func `a subject has 1 to 255 bytes and no control characters`() throws {
        #expect(try Self.rejectionOf("sub", "") == .claimInvalid)
        #expect(try Self.rejectionOf("sub", .string(String(repeating: "s", count: 255))) == nil)
        #expect(try Self.rejectionOf("sub", .string(String(repeating: "s", count: 256))) == .claimInvalid)
        #expect(try Self.rejectionOf("sub", .string(String(repeating: "é", count: 128))) == .claimInvalid)
        for escape in ["\\u0000", "victim\\u0000evil", "\\n", "\\r\\n", "\\u001f"] {
            #expect(try Self.rejectionOf("sub", .raw("\"\(escape)\"")) == .claimInvalid)
        }
        #expect(try Self.rejectionOf("sub", 1) == .claimInvalid)
    }

    @Test func `subjects that Swift's strings call equal stay apart as bytes`() throws {
        let subject = { (text: String) in
            try Self.rules.check(Self.verified(Self.claims.with("sub", .string(text))), at: Self.now).subject
        }
        let composed = try #require(try subject("caf\u{E9}"))
        let decomposed = try #require(try subject("cafe\u{301}"))
        #expect(Array(composed.utf8) != Array(decomposed.utf8))
    }

    @Test func `an event is no identity token, whatever else is right or wrong with it`() throws {
        for events: TokenMint.Literal in [.raw("{}"), .null, "{\"type\":\"consent-revoked\"}"] {
            #expect(try Self.rejectionOf("events", events) == .eventToken)
            let late = try Self.verified(Self.claims.with("events", events).with("sub", nil))
            #expect(rejection(of: late, under: Self.rules, at: Self.now + 100_000) == .eventToken)
        }
    }

    @Test func `an event needs no expiry and no subject, but an id`() throws {
        let rules = ClaimRules.securityEvent(issuers: [Self.issuer], audiences: [Self.audience])
        let event = Self.claims.with("events", .raw("{}")).with("jti", "B94OdD03").with("sub", nil).with("exp", nil)
        let checked = try rules.check(try Self.verified(event), at: Self.now)
        #expect(checked.tokenID == "B94OdD03")
        #expect(checked.subject == nil)
        #expect(checked.expiresAt == nil)
        let judged = { (name: String, value: TokenMint.Literal?) in
            rejection(of: try Self.verified(event.with(name, value)), under: rules, at: Self.now)
        }
        #expect(try judged("exp", .integer(Self.now - 100_000)) == nil, "an event does not become untrue")
        #expect(try judged("jti", nil) == .claimMissing)
        #expect(try judged("jti", "") == .claimInvalid)
        #expect(try judged("jti", 1) == .claimInvalid)
        #expect(try judged("jti", .string(String(repeating: "j", count: 256))) == .claimInvalid)
        #expect(try judged("events", nil) == .claimMissing)
        #expect(try judged("iat", nil) == .claimMissing)
        #expect(try judged("iat", .integer(Self.now + 61)) == .notYetValid)
        #expect(try judged("aud", "other") == .audienceRejected)
        #expect(try judged("iss", "other") == .issuerRejected)
    }

    @Test func `the first fault decides, in the order of the claims`() throws {
        var token = Self.claims.with("iss", "other").with("aud", "other").with("exp", 0).with("sub", "")
        let judged = { (token: TokenMint.Members) in
            rejection(of: try Self.verified(token), under: Self.rules, at: Self.now)
        }
        #expect(try judged(token) == .issuerRejected)
        token["iss"] = .string(Self.issuer)
        #expect(try judged(token) == .audienceRejected)
        token["aud"] = .string(Self.audience)
        #expect(try judged(token) == .expired)
        token["exp"] = .integer(Self.now + 1)
        #expect(try judged(token) == .claimInvalid)
    }
}
