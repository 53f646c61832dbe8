import Curl
import Foundation
import JOSE
import JSON
import OpenSSL
import TestSupport
import Testing

/// A client of Apple's endpoints with a team and a key of its own. Its requests are correct; tests change single parts.
struct AppleClient: ProviderClient {
    static let provider = Sandbox.Provider.apple

    let sandbox: Sandbox
    let key: P256PrivateKey
    let keyID: String
    let team: String
    let id: String

    /// A client of a team of its own, so that tests can share a sandbox.
    static func register(in sandbox: Sandbox) async throws -> AppleClient {
        let name = UUID().uuidString.lowercased()
        let client = AppleClient(
            sandbox: sandbox, key: try P256PrivateKey(), keyID: "K" + name.prefix(8), team: "T" + name.prefix(8),
            id: "com.example." + name)
        try await sandbox.assignAppleClient(client.id, team: client.team)
        try await sandbox.registerAppleKey(team: client.team, keyID: client.keyID, client.key)
        return client
    }

    /// The same key and team for another client.
    func sibling(_ id: String) async throws -> AppleClient {
        try await sandbox.assignAppleClient(id, team: team)
        return AppleClient(sandbox: sandbox, key: key, keyID: keyID, team: team, id: id)
    }

    // MARK: Client secrets

    /// The time of the sandbox's clock.
    func now() async throws -> Int64 {
        let text = try #require(try await sandbox.control("clock")["now"]?.string)
        return Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970)
    }

    /// The claims of a valid secret, which a test changes one by one.
    func claims() async throws -> TokenMint.Members {
        let now = try await now()
        return [
            "iss": .string(team), "sub": .string(id), "aud": "https://appleid.apple.com", "iat": .integer(now),
            "exp": .integer(now + 300),
        ]
    }

    func secret(_ change: (inout TokenMint.Members) -> Void = { _ in }) async throws -> String {
        var claims = try await claims()
        change(&claims)
        return try TokenSigner(key: key, keyID: keyID).sign(claims.bytes)
    }

    // MARK: Requests

    /// A code of a person who taps "Continue", a new one unless named.
    func code(
        _ person: String? = nil, redirectURI: String? = nil,
        exchange: Sandbox.ExchangeChanges = Sandbox.ExchangeChanges()
    ) async throws -> String {
        let name = if let person { person } else { try await self.person() }
        return try await sandbox.authorizeApple(
            name, clientID: id, redirectURI: redirectURI, exchange: exchange
        ).authorizationCode
    }

    /// POSTs with the credentials of this client.
    func post(
        _ path: String, _ fields: [(String, String)], secret: String? = nil,
        headers: [(name: String, value: String)] = []
    ) async throws -> EndpointAnswer {
        let own = if let secret { secret } else { try await self.secret() }
        return try await sandbox.post(path, [("client_id", id), ("client_secret", own)] + fields, headers: headers)
    }

    func exchange(
        _ code: String, _ others: [(String, String)] = [], secret: String? = nil
    ) async throws -> EndpointAnswer {
        try await post(
            "/apple/auth/token", [("grant_type", "authorization_code"), ("code", code)] + others, secret: secret)
    }

    func refresh(_ token: String) async throws -> EndpointAnswer {
        try await post("/apple/auth/token", [("grant_type", "refresh_token"), ("refresh_token", token)])
    }

    func revoke(_ token: String, hint: String? = nil) async throws -> EndpointAnswer {
        try await post("/apple/auth/revoke", [("token", token)] + (hint.map { [("token_type_hint", $0)] } ?? []))
    }

    func migrationToken() async throws -> String {
        try await post("/apple/auth/token", [("grant_type", "client_credentials"), ("scope", "user.migration")])
            .text("access_token")
    }

    func migrate(_ fields: [(String, String)], bearer: String?) async throws -> EndpointAnswer {
        try await post(
            "/apple/auth/usermigrationinfo", fields, headers: bearer.map { [("Authorization", "Bearer \($0)")] } ?? [])
    }

    func other() async throws -> AppleClient { try await sibling(id + ".web") }

    func code(of person: String, _ exchange: Sandbox.ExchangeChanges) async throws -> String {
        try await code(person, exchange: exchange)
    }

    func redeem(_ code: String) async throws -> EndpointAnswer { try await exchange(code) }

    func end(_ token: String) async throws -> EndpointAnswer { try await revoke(token) }
}
