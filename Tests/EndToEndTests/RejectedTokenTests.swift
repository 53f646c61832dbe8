import JOSE
import JSON
import Primitives
import TestSupport
import Testing

/// A credential that must not sign anybody in, and the reason that the log must name.
struct RejectedToken: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: TokenRejection
    var changes = Sandbox.TokenChanges()
    var nonce: String?
    var audience: String?
    /// Posted beside the token.
    var posted: TokenMint.Members = [:]

    init(
        _ name: String, _ reason: TokenRejection, _ changes: Sandbox.TokenChanges = .init(), nonce: String? = nil,
        audience: String? = nil, posted: TokenMint.Members = [:]
    ) {
        (testDescription, self.reason, self.changes) = (name, reason, changes)
        (self.nonce, self.audience, self.posted) = (nonce, audience, posted)
    }

    /// The hash that an app hands to Apple's SDK for the nonce of the last case but one.
    private static let spentDigest = "39ee75de602381221a0333049200e3bdad2d6d1f4cfe36663319611f49dfcfc4"

    /// Tokens of Apple's; one for each check of a token.
    static let all: [RejectedToken] = [
        .init("expired", .expired, .init(expired: true)),
        .init("of another audience", .audienceRejected, audience: "com.example.other"),
        .init("of a longer audience", .audienceRejected, audience: "\(Countersign.appleClient).beta"),
        .init("of another issuer", .issuerRejected, .init(claims: #"{"iss":"https://accounts.google.com"}"#)),
        .init("of the issuer's new name", .issuerRejected, .init(claims: #"{"iss":"https://account.apple.com"}"#)),
        .init("with a bit of its signature turned", .signatureMismatch, .init(signature: .forged)),
        .init("signed by another key", .signatureMismatch, .init(signature: .otherKey)),
        .init("without a signature", .malformed, .init(signature: .absent)),
        .init("of alg none", .malformed, .init(algorithm: "none")),
        .init("of alg none, signed", .algorithmRejected, .init(header: #"{"alg":"none"}"#)),
        .init("of alg NONE, signed", .algorithmRejected, .init(header: #"{"alg":"NONE"}"#)),
        .init("of HS256 under the public key", .algorithmRejected, .init(algorithm: "HS256")),
        .init("of ES256 under the id of an RSA key", .algorithmRejected, .init(algorithm: "ES256")),
        .init("of an unknown key", .keyUnknown, .init(header: #"{"kid":"unknown"}"#)),
        .init("with an extension", .headerRejected, .init(header: #"{"crit":["exp"]}"#)),
        .init("of another type", .headerRejected, .init(header: #"{"typ":"at+jwt"}"#)),
        .init("that is an event", .eventToken, .init(claims: #"{"events":{}}"#)),
        .init("not valid yet", .notYetValid, .init(claims: #"{"nbf":4102444800}"#)),
        .init("that lives too long", .lifetimeRejected, .init(lifetime: 200_000)),
        .init("without a subject", .claimMissing, .init(withoutClaims: ["sub"])),
        .init("with a number as subject", .claimInvalid, .init(claims: #"{"sub":5}"#)),
        .init(
            "larger than any", .tooLarge, .init(claims: #"{"pad":"\#(String(repeating: "a", count: 5_000))"}"#.twice)),
        .init("with another nonce", .nonceMismatch, nonce: "theirs", posted: ["nonce": "ours"]),
        .init("with a nonce that is not posted", .nonceMissing, nonce: "theirs"),
        .init("without the nonce that is posted", .nonceMissing, posted: ["nonce": "ours"]),
        .init(
            "with a nonce that we never issued", .nonceSpent, nonce: spentDigest,
            posted: ["nonce": "csn_0123456789abcdef"]),
        .init("of another client than is posted", .clientRejected, posted: ["clientId": "com.example.other"]),
    ]
}

@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct RejectedTokenTests: WorldSuite {
    /// Everything in which the answers may differ is compared, headers too, except for `Retry-After`: an unknown key
    /// may be a new one, and then a retry succeeds.
    @Test func `no refusal of a token reveals which check failed, and none leaves a row`() async throws {
        try await world.newPerson("kim")
        var answers: [String: [String]] = [:]
        for (index, rejected) in RejectedToken.all.enumerated() {
            let id = "rejected-\(100 + index)"
            let token = try await world.sandbox.authorizeApple(
                "kim", clientID: Countersign.appleClient, nonce: rejected.nonce, audience: rejected.audience,
                token: rejected.changes
            ).identityToken
            let answer = try await service.post(
                "/v1/sign-in/apple", rejected.posted.with("identityToken", .string(token)),
                headers: [("X-Request-Id", id)])
            answer.expectRefusal(401, "invalid_token", "\(rejected.testDescription)")
            let line = try await service.logged(id)
            #expect(line["reason"]?.string == rejected.reason.rawValue, "\(rejected.testDescription)")
            if rejected.reason != .keyUnknown {
                #expect(answer.retryAfter == nil, "\(rejected.testDescription)")
            } else {
                // The keys were fetched for it or just before, and a minute has to pass before they are once more.
                let again = try await service.post(
                    "/v1/sign-in/apple", rejected.posted.with("identityToken", .string(token)))
                #expect(again.status == 401)
                #expect((1...60).contains(again.retryAfter ?? 0))
            }
            let comparable = answer.withoutRequestID.replacing(/Retry-After: [0-9]+\n/.ignoresCase(), with: "")
            answers[comparable, default: []].append(rejected.testDescription)
        }
        #expect(answers.count == 1, "\(answers)")
        #expect(try await world.rows().isEmpty)
        #expect(service.isRunning)
    }

    @Test(arguments: try Vectors.realIDTokens + Vectors.realAppleNotifications)
    func `tokens and events that the providers really signed are refused here, at both endpoints`(
        _ token: Vectors.RealToken
    ) async throws {
        try await service.signInWithApple(token.token).expectRefusal(401, "invalid_token")
        try await service.signInWithGoogle(token.token).expectRefusal(401, "invalid_token")
    }

    @Test func `a key id of a megabyte is refused before it is a token`() async throws {
        let header = Base64URL.encode(Array(#"{"alg":"RS256","kid":"\#(String(repeating: "k", count: 30_000))"}"#.utf8))
        try await service.signInWithApple("\(header).e30.AAAA").expectRefusal(401, "invalid_token")
        let huge = try await service.signInWithApple(String(repeating: "k", count: 1 << 20))
        huge.expectRefusal(413, "payload_too_large")
        #expect(service.isRunning)
    }
}

extension String {
    /// The object with its claim once more under a second name: more text than one string may hold.
    fileprivate var twice: String {
        let body = dropFirst().dropLast()
        return "{\(body),\(body.replacing("\"pad\"", with: "\"pad2\""))}"
    }
}
