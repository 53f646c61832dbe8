import Accounts
import Postgres
import Storage
import TestSupport
import Testing

/// The end of a link in the feed.
@Suite(.fixture(OAuthGrantWorld.self)) struct OAuthLinkEndTests {
    private typealias World = OAuthGrantWorld

    /// What ends a chain.
    enum Way: CaseIterable {
        case codeReused, tokenReused, tokenRevoked

        var cause: String { self == .tokenRevoked ? "client" : "policy" }
    }

    private static let scopes = OAuthScopes([.profile])
    private static let expiry = World.start.advanced(bySeconds: 3_600)

    private var world: World { .current }
    private var store: OAuthGrantStore { OAuthGrantStore(database: world.database) }
    private var call: Call { .at(World.start) }

    private func client() throws -> OAuthClient {
        OAuthClient(id: try #require(OAuthClientID("csc_test")), name: "Test", redirectURIs: [], createdAt: World.start)
    }

    // MARK: Tokens, by their numbers

    private static func refreshToken(_ number: UInt8) -> NewOAuthTokens.Refresh {
        NewOAuthTokens.Refresh(hash: World.hash(number), fingerprint: [UInt8](repeating: number, count: 64))
    }

    /// Of the access token that is issued with a refresh token.
    private static func accessHash(_ number: UInt8) -> SecretHash { World.hash(100 + number) }

    private func redeem(_ code: UInt8, for number: UInt8) async throws {
        let proof = OAuthCodeProof(
            client: try client(), allowedScopes: Self.scopes, redirectURI: "https://a.example/", challenge: nil)
        let tokens = NewOAuthTokens(
            accessHash: Self.accessHash(number), accessExpiresAt: Self.expiry, refresh: Self.refreshToken(number))
        _ = try await store.redeem(World.hash(code), by: proof, for: tokens, by: call)
    }

    private func refresh(_ number: UInt8, for next: UInt8) async throws {
        let successor = OAuthSuccessor(text: "\(next)", stored: Self.refreshToken(next))
        _ = try await store.rotate(
            World.hash(number), of: try client().id, scopes: nil, within: Self.scopes,
            accessHash: Self.accessHash(next), accessExpiresAt: Self.expiry, by: call
        ) { _ in [successor] }
    }

    /// Redeems a code, and ends what has come of it.
    private func end(_ code: UInt8, _ way: Way) async throws {
        let token = 10 * code
        try await redeem(code, for: token)
        #expect(try await world.announced() == [])
        switch way {
        case .codeReused: try await redeem(code, for: token + 1)
        case .tokenReused:
            try await refresh(token, for: token + 1)
            try await refresh(token + 1, for: token + 2)
            #expect(try await world.announced() == [])
            try await refresh(token, for: token + 3)
        case .tokenRevoked: try await store.revoke(World.hash(token), of: try client().id, by: call)
        }
    }

    @Test(arguments: Way.allCases)
    func `the end of the last chain is that of the link, the end of another one is not`(_ way: Way) async throws {
        for code: UInt8 in 1...2 { try await world.link(code, at: 0, in: world.database) }
        try await end(1, way)
        #expect(try await world.database.count("oauth_chains") == 1)
        try await end(2, way)
        #expect(try await world.database.count("oauth_grants") == 0)
        #expect(try await world.announced() == ["client.unlinked csc_test \(way.cause)"])
    }

    @Test func `an administrator ends a link`() async throws {
        try await world.link(1, at: 0, in: world.database)
        let administrator = Call.at(World.start, from: ChangeOrigin(actor: .administrator, requestID: nil))
        #expect(try await store.end(try client().id, of: world.account, reason: "case 41", by: administrator))
        #expect(try await world.announced() == ["client.unlinked csc_test admin"])
    }
}
