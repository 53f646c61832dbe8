import Accounts
import JOSE
import Providers
import TestSupport
import Testing

/// Tokens that Apple and Google have signed, verified at the time of their issue.
@Suite struct RealTokenTests {
    private func provider(for token: Vectors.RealToken, audience: String? = nil) throws -> any IdentityProvider {
        let file = try #require(token.keySets.first)
        let keys = KeySource.fixed(try KeySet(parsing: Vectors.keySet(named: file)))
        let audience = ProviderClientID(audience ?? token.audience)
        return token.issuer.contains("apple")
            ? AppleProvider(configuration: .init(teams: [.init(clientIDs: [audience])]), keys: keys)
            : GoogleProvider(configuration: .init(clientIDs: [audience]), keys: keys)
    }

    private func judge(
        _ token: Vectors.RealToken, audience: String? = nil, at time: Int64
    ) async throws -> VerifiedIdentity {
        try await provider(for: token, audience: audience).credential(
            Array(token.token.utf8), postedNonce: nil, expectedClientID: nil, at: Timestamp(seconds: time)
        ).identity
    }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real token is accepted in its time`(token: Vectors.RealToken) async throws {
        for time in [token.issuedAt - 60, token.issuedAt, token.expiresAt + 59] {
            let identity = try await judge(token, at: time)
            #expect(identity.clientID.text == token.audience)
            #expect(identity.authenticatedAt == Timestamp(seconds: token.issuedAt))
        }
    }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real token is refused outside its time and for another client`(token: Vectors.RealToken) async throws {
        await #expect(throws: CredentialRefusal(.notYetValid)) { try await judge(token, at: token.issuedAt - 61) }
        await #expect(throws: CredentialRefusal(.expired)) { try await judge(token, at: token.expiresAt + 60) }
        await #expect(throws: CredentialRefusal(.audienceRejected)) {
            try await judge(token, audience: token.audience + "x", at: token.issuedAt)
        }
    }

    @Test func `the same person comes with an email and later without`() async throws {
        let tokens = try Vectors.realIDTokens.filter { $0.name.contains("gameroasters") }
        try #require(tokens.count == 2)
        let first = try await judge(tokens[0], at: tokens[0].issuedAt)
        let second = try await judge(tokens[1], at: tokens[1].issuedAt)
        #expect(first.key == second.key)
        #expect(first.email?.isVerified == true)
        #expect(first.email?.isPrivateRelay == true)
        #expect(second.email == nil)
    }

    @Test(arguments: try Vectors.realAppleNotifications)
    func `a real notification is no identity token`(token: Vectors.RealToken) async throws {
        await #expect(throws: CredentialRefusal(.eventToken)) { try await judge(token, at: token.issuedAt) }
    }
}
