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

    /// The claims of a valid secret, which a test changes one by one.
    struct Claims {
        var issuer: String?
        var subject: String?
        /// JSON text.
        var audience: String? = #""https://appleid.apple.com""#
        var issuedAt: Int64?
        var expiresAt: Int64?

        var json: [UInt8] {
            get throws {
                try JSONWriter.object { writer in
                    writer.member("iss", issuer)
                    writer.member("sub", subject)
                    if let audience { writer.member("aud", try JSONValue(parsing: Array(audience.utf8))) }
                    if let issuedAt { writer.member("iat", issuedAt) }
                    if let expiresAt { writer.member("exp", expiresAt) }
                }
            }
        }
    }

    func claims() async throws -> Claims {
        let text = try #require(try await sandbox.control("clock")["now"]?.string)
        let now = Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970)
        return Claims(issuer: team, subject: id, issuedAt: now, expiresAt: now + 300)
    }

    func secret(_ change: (inout Claims) -> Void = { _ in }) async throws -> String {
        var claims = try await claims()
        change(&claims)
        return try TokenSigner(key: key, keyID: keyID).sign(claims.json)
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
        return try await sandbox.post(
            path, [("client_id", id), ("client_secret", own)] + fields, headers: headers)
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
