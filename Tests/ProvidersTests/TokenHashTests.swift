import Accounts
import JOSE
import JSON
import Providers
import TestSupport
import Testing

@Suite struct TokenHashTests {
    private func credential(_ claims: TokenMint.Members) async throws -> VerifiedCredential {
        try await AppleFixture.provider().credential(
            TokenMint.shared.token(claims), nonce: .proven, expectedClientID: nil, at: Timestamp(seconds: referenceTime)
        )
    }

    private struct Examples: Decodable {
        struct Example: Decodable {
            let kind: String
            let input: String
            let hash: String
        }

        let vectors: [Example]
    }

    @Test func `a posted token goes with the code of its c_hash and with no other`() async throws {
        var examples = try Vectors.rfc("oidc_core_at_hash_c_hash.json", as: Examples.self).vectors
            .filter { $0.kind == "c_hash" }.map { ($0.input, $0.hash) }
        try #require(examples.count == 1)
        examples.append(("c0ffee11223344556677889900aabbccd.0.rtzx.ExampleCodeTail", "KMbPSYScaVFfR7t_aMAvBA"))
        for (code, hash) in examples {
            let credential = try await credential(AppleFixture.claims.with("c_hash", .string(hash)))
            try credential.checkHash(ofCode: code)
            for other in [code + "x", String(code.dropLast()), "d" + code.dropFirst(), ""] {
                #expect(throws: CredentialRefusal(.hashMismatch)) { try credential.checkHash(ofCode: other) }
            }
        }
    }

    @Test func `a token without a c_hash goes with any code`() async throws {
        try await credential(AppleFixture.claims).checkHash(ofCode: "any")
    }

    @Test(
        arguments: [
            ("", .hashMismatch), ("KMbPSYScaVFfR7t_aMAvBA==", .hashMismatch), ("KMbPSYScaVFfR7t_aMAvBB", .hashMismatch),
            ("kmbpsyscavffr7t_amavba", .hashMismatch), (1, .claimInvalid), (.null, .claimInvalid), ([], .claimInvalid),
        ] as [(TokenMint.Literal, TokenRejection)])
    func `a c_hash is compared by its bytes`(hash: TokenMint.Literal, reason: TokenRejection) async throws {
        let credential = try await credential(AppleFixture.claims.with("c_hash", hash))
        #expect(throws: CredentialRefusal(reason)) {
            try credential.checkHash(ofCode: "c0ffee11223344556677889900aabbccd.0.rtzx.ExampleCodeTail")
        }
    }

    @Test func `a token that Apple signed goes with nobody else's code`() async throws {
        let tokens = try Vectors.realIDTokens.filter { $0.issuer == "https://appleid.apple.com" }
        try #require(tokens.count == 4)
        for token in tokens {
            let keys = try KeySet(parsing: Vectors.keySet(named: #require(token.keySets.first)))
            let provider = AppleProvider(
                configuration: .init(teams: [.init(clientIDs: [ProviderClientID(token.audience)])]), keys: .fixed(keys))
            let credential = try await provider.credential(
                Array(token.token.utf8), postedNonce: nil, expectedClientID: nil,
                at: Timestamp(seconds: token.issuedAt))
            try #require(credential.claims["c_hash"] != nil)
            #expect(throws: CredentialRefusal(.hashMismatch)) {
                try credential.checkHash(ofCode: "c0ffee11223344556677889900aabbccd.0.rtzx.ExampleCodeTail")
            }
        }
    }
}
