import Accounts
import Foundation
import JOSE
import JSON
import OpenSSL
import TestSupport
import Testing

/// A service that trusts the keys of `TokenMint.shared`, so that a test can sign tokens that no provider would issue,
/// and a listener at the address that an attacker's token names.
struct MintedWorld: TestFixture {
    let service: Countersign
    let keyServer: LoopbackServer
    let attacker: LoopbackServer

    static func run(_ body: (MintedWorld) async throws -> Void) async throws {
        let document = try TokenMint.shared.keySetDocument
        let foreign = try TokenMint.otherSigner.keySetDocument
        let keyServer = try LoopbackServer { _ in [.respond(body: document)] }
        let attacker = try LoopbackServer { _ in [.respond(body: foreign)] }
        try await ScratchDatabase.withMigrated { scratch in
            let settings = [
                "postgres.url": scratch.url, "apple.keysUrl": keyServer.url + "/apple",
                "google.keysUrl": keyServer.url + "/google",
            ]
            try await Countersign.serve(settings) { service in
                try await body(MintedWorld(service: service, keyServer: keyServer, attacker: attacker))
            }
        }
    }

    /// The claims of Apple's token for a person.
    func claims(_ subject: String) -> TokenMint.Members {
        let now = Int64(Date.now.timeIntervalSince1970)
        return .identity(.apple, to: Countersign.appleClient, of: subject, at: now)
            .with([
                ("auth_time", .integer(now)), ("email", .string("\(subject)@example.com")), ("email_verified", true),
                ("is_private_email", false),
            ])
    }

    func signIn(
        _ claims: TokenMint.Members, header: TokenMint.Members? = nil, by mint: TokenMint? = nil
    ) async throws -> Answer {
        let token = try (mint ?? TokenMint.shared).token(claims, header: header)
        return try await service.signInWithApple(String(decoding: token, as: UTF8.self))
    }
}

@Suite(.limitedConcurrency, .fixture(MintedWorld.self), .timeLimit(.minutes(30))) struct MintedTokenTests {
    var world: MintedWorld { .current }

    @Test func `a token that brings or names its own key is refused, and no connection is opened to it`() async throws {
        let mint = try TokenMint.otherSigner
        let jwk = TokenMint.Literal.raw(
            String(decoding: mint.keySetDocument, as: UTF8.self).split(separator: "[")[1].split(separator: "}")[0]
                + "}")
        let address = TokenMint.Literal.string(world.attacker.url + "/keys")
        for keyID in [TokenMint.rsaKeyID, "theirs"] {
            for (name, value) in [("jwk", jwk), ("jku", address), ("x5u", address), ("x5c", ["MIIB"])] {
                let header = mint.header(.rs256).with("kid", .string(keyID)).with(name, value)
                let answer = try await world.signIn(world.claims("a"), header: header, by: mint)
                answer.expectRefusal(401, "invalid_token", "\(name) of \(keyID)")
            }
        }
        // A perfect token of an issuer that is not Apple, with a discovery document where its name says.
        let foreign = world.claims("a").with("iss", .string(world.attacker.url))
        let own = mint.header(.rs256).with("kid", "theirs")
        #expect(try await world.signIn(foreign, header: own, by: mint).code == "invalid_token")
        #expect(try await world.signIn(foreign).code == "invalid_token")

        #expect(world.attacker.history.opened == 0)
        #expect(try await world.signIn(world.claims("a")).status == 200)
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
                let answer = try await world.signIn(world.claims("b").with(name, value))
                let isHarmless = name == "sub" && ["1", "NaN"].contains(value) || name == "auth_time" && value.isTime
                #expect(answer.status == (isHarmless ? 200 : 401), "\(name): \(value.text)")
            }
        }
        // A date in the past says nothing against the token, and an address that can't be read is none.
        for name in ["nbf", "email", "email_verified", "is_private_email", "transfer_sub"] {
            for value in junk {
                let answer = try await world.signIn(world.claims("b").with(name, value))
                #expect([200, 401].contains(answer.status), "\(name): \(value.text)")
            }
        }
        #expect(world.service.isRunning)
        #expect(try world.service.logLines().allSatisfy { $0["level"]?.string != "error" })
    }

    @Test func `a claim or header member that comes twice is refused, also when one is escaped`() async throws {
        let claims = world.claims("c")
        let escaped = ["sub": "s\\u0075b", "aud": "\\u0061ud", "iss": "is\\u0073", "exp": "\\u0065xp"]
        for (name, spelling) in escaped {
            let value = try #require(claims[name])
            var plain = claims
            plain.append(name, value)
            #expect(try await world.signIn(plain).status == 401, "\(name) twice")
            let text = String(decoding: claims.bytes, as: UTF8.self)
            let payload = "\(text.dropLast()),\"\(spelling)\":\(value.text)}"
            let token = try TokenMint.shared.token(
                header: TokenMint.shared.header(.rs256).bytes, payload: Array(payload.utf8))
            let answer = try await world.service.signInWithApple(String(decoding: token, as: UTF8.self))
            #expect(answer.status == 401, "\(name) as \(spelling)")
        }
        var header = try TokenMint.shared.header(.rs256)
        header.append("alg", "RS256")
        #expect(try await world.signIn(claims, header: header).status == 401)
        #expect(try await world.signIn(claims).status == 200)
    }
}

extension TokenMint.Literal {
    /// Whether this is a valid `auth_time`.
    fileprivate var isTime: Bool { ["0", "-0", "1e-400"].contains(text) }
}
