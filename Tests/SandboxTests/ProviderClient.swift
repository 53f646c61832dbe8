import Foundation
import TestSupport

/// A client of either provider. Its requests are correct; tests change single parts.
protocol ProviderClient: Sendable {
    static var provider: Sandbox.Provider { get }

    var sandbox: Sandbox { get }
    var id: String { get }

    static func register(in sandbox: Sandbox) async throws -> Self
    /// Another client, of the same team where there are teams.
    func other() async throws -> Self
    /// The code of a person's next sign-in.
    func code(of person: String, _ exchange: Sandbox.ExchangeChanges) async throws -> String
    func redeem(_ code: String) async throws -> EndpointAnswer
    func refresh(_ token: String) async throws -> EndpointAnswer
    func end(_ token: String) async throws -> EndpointAnswer
}

extension ProviderClient {
    /// A new person.
    func person() async throws -> String {
        let name = UUID().uuidString
        try await sandbox.addPerson(Self.provider, name)
        return name
    }

    /// The code of a new person.
    func newCode() async throws -> String { try await code(of: person(), .init()) }

    /// The refresh token of a person's first sign-in, a new person unless named.
    func refreshToken(_ person: String? = nil) async throws -> String {
        let name = if let person { person } else { try await self.person() }
        return try await redeem(code(of: name, .init())).text("refresh_token")
    }

    func authorization(of person: String) async throws -> Sandbox.Authorization? {
        try await sandbox.authorization(Self.provider, person, clientID: id)
    }

    func withdraw(_ person: String) async throws { try await sandbox.withdraw(Self.provider, person, clientID: id) }
}

extension Sandbox.Provider {
    func client(in sandbox: Sandbox) async throws -> any ProviderClient {
        switch self {
        case .apple: try await AppleClient.register(in: sandbox)
        case .google: try await GoogleClient.register(in: sandbox)
        }
    }
}
