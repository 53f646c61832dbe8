import Accounts
import Curl
import Logging
import OAuthServer
import Providers
import SignIn
import Storage

/// The parts of the service that outlive a reload of the configuration.
struct ServiceResources: Sendable {
    let configuration: ServiceConfiguration
    let fetcher: any Fetcher
    let signIn: SignInService.Resources
    let oauthMetrics = OAuthMetrics()
    let oauthClients: OAuthClients
    let eventBackoff = EventBackoff()
    /// Nil where Apple was off at the start.
    let appleKeys: KeySetCache?
    /// Also where Google was off: a reload may let the console's staff sign in with it.
    let googleKeys: KeySetCache

    var database: ServiceDatabase { signIn.database }
    var clock: any WallClock { signIn.clock }
    var logger: Logger { signIn.logger }

    var keySets: [KeySetCache] { [appleKeys, googleKeys].compactMap(\.self) }
}

extension ServiceResources {
    init(
        _ configuration: ServiceConfiguration, _ connections: OutgoingConnections, clock: any WallClock, logger: Logger
    ) async throws {
        let database = ServiceDatabase(connections.database, keyRing: configuration.keyRing)
        func keySet(_ provider: Provider, at url: String) -> KeySetCache {
            KeySetCache(provider: provider, url: url, fetcher: connections.fetcher, clock: clock, logger: logger)
        }
        self.init(
            configuration: configuration, fetcher: connections.fetcher,
            signIn: SignInService.Resources(
                database: database,
                accessTokens: try await AccessTokens(
                    configuration: .init(
                        issuer: configuration.tokens.issuer, audience: configuration.tokens.audience,
                        lifetime: Int64(configuration.tokens.accessLifetime)),
                    store: database.signingKeys, keyRing: configuration.keyRing, clock: clock, logger: logger),
                passwordHasher: try PasswordHasher(
                    foreign: configuration.passwords.foreign, memoryLimit: configuration.passwords.memoryLimit),
                clock: clock, logger: logger),
            oauthClients: OAuthClients(store: database.oauthClients),
            appleKeys: configuration.reloadable.apple.map { keySet(.apple, at: $0.keysURL) },
            googleKeys: keySet(.google, at: configuration.reloadable.console.keysURL))
    }
}
