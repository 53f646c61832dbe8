import Foundation
import JSON
import OpenSSL
import TestSupport
import Testing

/// Tokens that no provider would issue, signed by the keys that the service trusts.
@Suite(.limitedConcurrency, .fixture(EventWorld.self), .timeLimit(.minutes(30))) struct MintedTokenTests {
    var world: EventWorld { .current }

    /// The claims of Apple's token for a person.
    private func claims(_ subject: String) -> TokenMint.Members {
        EventWorld.appleClaims(
            subject,
            [("email", .string("\(subject)@example.com")), ("email_verified", true), ("is_private_email", false)])
    }

    private func signIn(
        _ claims: TokenMint.Members, header: TokenMint.Members? = nil, by mint: TokenMint? = nil
    ) async throws -> Answer {
        try await world.service.signInWithApple(EventWorld.signed(claims, header: header, by: mint))
    }

    @Test func `a token that brings or names its own key is refused, and no connection is opened to it`() async throws {
        let mint = try TokenMint.otherSigner
        let document = mint.keySetDocument
        let attacker = try LoopbackServer { _ in [.respond(body: document)] }
        let jwk = TokenMint.Literal.raw(
            String(decoding: document, as: UTF8.self).split(separator: "[")[1].split(separator: "}")[0] + "}")
        let address = TokenMint.Literal.string(attacker.url + "/keys")
        for keyID in [TokenMint.rsaKeyID, "theirs"] {
            for (name, value) in [("jwk", jwk), ("jku", address), ("x5u", address), ("x5c", ["MIIB"])] {
                let header = mint.header(.rs256).with("kid", .string(keyID)).with(name, value)
                let answer = try await signIn(claims("a"), header: header, by: mint)
                answer.expectRefusal(401, "invalid_token", "\(name) of \(keyID)")
            }
        }
        // A perfect token of an issuer that is not Apple, with a discovery document where its name says.
        let foreign = claims("a").with("iss", .string(attacker.url))
        let own = mint.header(.rs256).with("kid", "theirs")
        #expect(try await signIn(foreign, header: own, by: mint).code == "invalid_token")
        #expect(try await signIn(foreign).code == "invalid_token")

        #expect(attacker.history.opened == 0)
        #expect(try await signIn(claims("a")).status == 200)
    }

    @Test func `no claim stops the process, whatever it holds`() async throws {
        let junk: [TokenMint.Literal] = [
            .raw("1e300"), .raw("-1e300"), .raw("1e-400"), .raw("9223372036854775808"), -1, 0, .raw("1e99999"),
            .raw("NaN"), .raw("Infinity"), .raw("0x10"), .raw("-0"), "1", "NaN", "", .null, true, [], .raw("{}"),
            .raw(String(repeating: "[", count: 9) + String(repeating: "]", count: 9)), .raw("\"\\ud800\""),
            .raw("\"a\\u0000b\""), .raw(String(repeating: "9", count: 400)),
        ]
        for name in ["iss", "aud", "sub", "iat", "exp", "auth_time", "nonce", "events"] {
            for value in junk {
                let answer = try await signIn(claims("b").with(name, value))
                let isHarmless = name == "sub" && ["1", "NaN"].contains(value) || name == "auth_time" && value.isTime
                #expect(answer.status == (isHarmless ? 200 : 401), "\(name): \(value.text)")
            }
        }
        // A date in the past says nothing against the token, and an address that can't be read is none.
        for name in ["nbf", "email", "email_verified", "is_private_email", "transfer_sub"] {
            for value in junk {
                let answer = try await signIn(claims("b").with(name, value))
                #expect([200, 401].contains(answer.status), "\(name): \(value.text)")
            }
        }
        #expect(world.service.isRunning)
        #expect(try world.service.logLines().allSatisfy { $0["level"]?.string != "error" })
    }

    @Test func `a claim or header member that comes twice is refused, also when one is escaped`() async throws {
        let claims = self.claims("c")
        let escaped = ["sub": "s\\u0075b", "aud": "\\u0061ud", "iss": "is\\u0073", "exp": "\\u0065xp"]
        for (name, spelling) in escaped {
            let value = try #require(claims[name])
            var plain = claims
            plain.append(name, value)
            #expect(try await signIn(plain).status == 401, "\(name) twice")
            let text = claims.text
            let payload = "\(text.dropLast()),\"\(spelling)\":\(value.text)}"
            let token = try TokenMint.shared.token(
                header: TokenMint.shared.header(.rs256).bytes, payload: Array(payload.utf8))
            let answer = try await world.service.signInWithApple(String(decoding: token, as: UTF8.self))
            #expect(answer.status == 401, "\(name) as \(spelling)")
        }
        var header = try TokenMint.shared.header(.rs256)
        header.append("alg", "RS256")
        #expect(try await signIn(claims, header: header).status == 401)
        #expect(try await signIn(claims).status == 200)
    }
}

extension TokenMint.Literal {
    /// Whether this is a valid `auth_time`.
    fileprivate var isTime: Bool { ["0", "-0", "1e-400"].contains(text) }
}
