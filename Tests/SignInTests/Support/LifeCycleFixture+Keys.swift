import Accounts
import Curl
import OpenSSL
import Providers
import SignIn
import TestSupport

/// A fetcher that forwards to the real one, and does something before each request.
struct PreparingFetcher: Fetcher {
    let fetcher: CurlFetcher
    let prepare: @Sendable () async -> Void

    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        await prepare()
        return try await fetcher.fetch(request)
    }
}

extension LifeCycleFixture {
    /// The same service with another key of Apple's, registered there.
    ///
    /// - Parameters:
    ///   - keys: where Apple's identity tokens are verified by; `nil` for the fixture's keys.
    ///   - prepare: what happens before each request to Apple's token endpoint.
    func service(
        keys: KeySource? = nil, beforeEachCode prepare: @escaping @Sendable () async -> Void = {}
    ) async throws -> SignInService {
        let key = try P256PrivateKey()
        try await sandbox.registerAppleKey(team: Self.team, keyID: "LAMPKEY002", key)
        let rules = keys.map { AppleProvider(configuration: apple.configuration, keys: $0) } ?? apple
        let endpoint = Self.appleEndpoint(
            rules, of: sandbox, team: Self.team, keyID: "LAMPKEY002", key: key,
            fetcher: PreparingFetcher(fetcher: sandbox.fetcher, prepare: prepare))
        return service(with: endpoint, rules: rules)
    }

    /// Makes the provider refuse the service's key or secret.
    func refuseKey(of provider: Provider) async throws {
        switch provider {
        case .apple: try await sandbox.revokeAppleKey(team: Self.team, keyID: Self.keyID)
        case .google: try await sandbox.registerGoogleClient(Self.serverClient, secret: "another")
        }
    }

    /// Makes it accept them again.
    func restoreKey(of provider: Provider) async throws {
        switch provider {
        case .apple: try await sandbox.registerAppleKey(team: Self.team, keyID: Self.keyID, teamKey)
        case .google: try await sandbox.registerGoogleClient(Self.serverClient, secret: Self.googleSecret)
        }
    }
}
