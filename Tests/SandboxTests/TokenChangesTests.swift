import JOSE
import JSON
import TestSupport
import Testing

@Suite(.fixture(Sandbox.self)) struct TokenChangesTests {
    private var sandbox: Sandbox { .current }

    private func mint(_ changes: Sandbox.TokenChanges) async throws -> String {
        try await sandbox.authorizeApple("kim", clientID: "app", token: changes).identityToken
    }

    @Test func `each unsound signature is refused for its own reason`() async throws {
        try await sandbox.addApplePerson("kim")
        let keys = try await sandbox.keySet(.apple)
        #expect(rejection(of: try await mint(.init()), by: keys) == nil)
        let cases: [(Sandbox.TokenChanges, TokenRejection)] = [
            (.init(signature: .forged), .signatureMismatch),
            (.init(signature: .otherKey), .signatureMismatch),
            (.init(signature: .absent), .malformed),
            (.init(algorithm: "none"), .malformed),
            (.init(signature: .valid, algorithm: "none"), .malformed),
            (.init(algorithm: "HS256"), .algorithmRejected),
            (.init(algorithm: "ES256"), .algorithmRejected),
            (.init(algorithm: "PS256"), .algorithmRejected),
            (.init(header: #"{"kid":"elsewhere"}"#), .keyUnknown),
            (.init(withoutHeader: ["kid"]), .headerRejected),
            (.init(header: #"{"crit":["exp"]}"#), .headerRejected),
        ]
        for (changes, expected) in cases {
            #expect(rejection(of: try await mint(changes), by: keys) == expected, "\(changes)")
        }
    }

    @Test func `the other algorithms sign in their own way`() async throws {
        try await sandbox.addApplePerson("kim")
        #expect(try TokenParts(await mint(.init(algorithm: "none"))).signature.isEmpty)
        #expect(try TokenParts(await mint(.init(algorithm: "HS256"))).signature.count == 32)
        #expect(try TokenParts(await mint(.init(algorithm: "ES256"))).signature.count == 64)
        let lying = try TokenParts(await mint(.init(algorithm: "PS512")))
        #expect(lying.header["alg"]?.string == "PS512")
        #expect(lying.signature.count == 256)
    }

    @Test func `claims are set to any value and taken away under a sound signature`() async throws {
        try await sandbox.addApplePerson("kim", #"{"email":"kim@example.com"}"#)
        let token = try await mint(
            .init(
                claims: #"{"aud":["app",null],"exp":1e300,"email":null,"events":{"x":[true]}}"#,
                withoutClaims: ["c_hash", "sub"]))
        #expect(rejection(of: token, by: try await sandbox.keySet(.apple)) == nil)
        let parts = try TokenParts(token)
        #expect(parts.claims["aud"]?.elements?.first?.string == "app")
        #expect(parts.claims["aud"]?.elements?.last?.isNull == true)
        #expect(parts.claims["exp"]?.number != nil)
        #expect(parts.claims["exp"]?.integer == nil)
        #expect(parts.claims["email"]?.isNull == true)
        #expect(parts.claims["events"]?["x"]?.elements?.first?.bool == true)
        #expect(parts.claims["c_hash"] == nil)
        #expect(parts.claims["sub"] == nil)
    }

    @Test func `an audience may be any text or list`() async throws {
        try await sandbox.addGooglePerson("kim")
        let other = try await sandbox.authorizeGoogle("kim", clientID: "web", audience: "other").idToken
        #expect(try TokenParts(other).claims["aud"]?.string == "other")
        let answer = try await sandbox.control(
            "google/authorize", #"{"person":"kim","clientId":"web","audience":["web","other"]}"#)
        let both = try TokenParts(try #require(answer["idToken"]?.string))
        #expect(both.claims["aud"]?.elements?.map(\.string) == ["web", "other"])
    }

    @Test func `an expired token ended an hour ago by the sandbox's clock`() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        try await sandbox.addApplePerson("kim")
        let noon: Int64 = 1_767_268_800
        let expired = try TokenParts(await mint(.init(expired: true))).claims
        #expect(expired["exp"]?.integer == noon - 3600)
        #expect(expired["iat"]?.integer == noon - 3600 - 86_400)
        let short = try TokenParts(await mint(.init(lifetime: 600))).claims
        #expect(short["iat"]?.integer == noon)
        #expect(short["exp"]?.integer == noon + 600)
    }

    @Test func `a key that was never there cannot sign`() async throws {
        try await sandbox.addApplePerson("kim")
        let body = #"{"person":"kim","clientId":"app","token":{"keyId":"nobody"}}"#
        let refusal = try await sandbox.refusal("apple/authorize", body)
        #expect(refusal.status == 404)
        #expect(refusal.message?.contains("nobody") == true)
    }
}
