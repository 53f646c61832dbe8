import Curl
import Foundation
import JOSE
import TestSupport
import Testing

/// A server client of Google's endpoints. Its requests are correct; tests change single parts.
struct GoogleClient: ProviderClient {
    static let provider = Sandbox.Provider.google

    let sandbox: Sandbox
    let id: String
    let secret: String

    static func register(in sandbox: Sandbox) async throws -> GoogleClient {
        let name = UUID().uuidString.lowercased()
        let client = GoogleClient(
            sandbox: sandbox, id: name + ".apps.googleusercontent.com", secret: "GOCSPX-" + name.suffix(12))
        try await sandbox.registerGoogleClient(client.id, secret: client.secret)
        return client
    }

    /// A code of a person who chooses this account, a new one unless named.
    func code(
        _ person: String? = nil, forceConsent: Bool = false,
        exchange: Sandbox.ExchangeChanges = Sandbox.ExchangeChanges()
    ) async throws -> String {
        let name = if let person { person } else { try await self.person() }
        return try await sandbox.authorizeGoogle(
            name, clientID: id, forceConsent: forceConsent, exchange: exchange
        ).serverAuthCode
    }

    /// POSTs with the credentials of this client in the body.
    func post(_ fields: [(String, String)]) async throws -> EndpointAnswer {
        try await sandbox.post("/google/token", [("client_id", id), ("client_secret", secret)] + fields)
    }

    func exchange(_ code: String, _ others: [(String, String)] = [("redirect_uri", "")]) async throws -> EndpointAnswer
    { try await post([("grant_type", "authorization_code"), ("code", code)] + others) }

    func refresh(_ token: String) async throws -> EndpointAnswer {
        try await post([("grant_type", "refresh_token"), ("refresh_token", token)])
    }

    func revoke(_ token: String) async throws -> EndpointAnswer {
        try await sandbox.post("/google/revoke", [("token", token)])
    }

    func other() async throws -> GoogleClient { try await Self.register(in: sandbox) }

    func code(of person: String, _ exchange: Sandbox.ExchangeChanges) async throws -> String {
        try await code(person, exchange: exchange)
    }

    func redeem(_ code: String) async throws -> EndpointAnswer { try await exchange(code) }

    func end(_ token: String) async throws -> EndpointAnswer { try await revoke(token) }
}
