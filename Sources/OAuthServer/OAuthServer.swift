package import Accounts
package import Logging
package import Providers
package import SignIn
package import Storage

/// The OAuth 2.0 server that clients such as Google link people's accounts to (RFC 6749, RFC 9700;
/// docs/account-linking.md).
///
/// A grant is one person's consent to one client. Three ways lead to it: the browser, App Flip, and an assertion of Google's.
package final class OAuthServer: Sendable {
    package struct Configuration: Sendable {
        /// Our own, which answers name.
        package var issuer: String
        /// Without a slash at its end.
        package var publicURL: String
        package var scopes: OAuthScopes
        /// The sentence of each scope, by language tag. `profile` and `email` need none.
        package var scopeTexts: [OAuthScope: [String: String]]
        /// Seconds.
        package var accessLifetime: Int64
        /// Seconds.
        package var codeLifetime: Int64
        /// How long ago the person of an App Flip may have authenticated, in seconds; nil for however long.
        package var flipMaxAuthAge: Int64?

        package init(
            issuer: String, publicURL: String, scopes: OAuthScopes = OAuthScopes([.profile, .email]),
            scopeTexts: [OAuthScope: [String: String]] = [:], accessLifetime: Int64 = 3_600, codeLifetime: Int64 = 600,
            flipMaxAuthAge: Int64? = nil
        ) {
            self.issuer = issuer
            self.publicURL = publicURL
            self.scopes = scopes
            self.scopeTexts = scopeTexts
            self.accessLifetime = accessLifetime
            self.codeLifetime = codeLifetime
            self.flipMaxAuthAge = flipMaxAuthAge
        }
    }

    package let configuration: Configuration
    let signIn: SignInService
    let clients: OAuthClients
    let grants: OAuthGrantStore
    let refreshes: OAuthRefreshes
    let successors: RefreshSuccessors
    let codes: WebCodes
    let accounts: AccountStore
    let sessions: SessionStore
    /// Verifies the assertions of streamlined linking, for whatever audience a client has; nil where Google is off.
    let google: GoogleProvider?
    let metrics: OAuthMetrics
    let logger: Logger

    /// - Parameters:
    ///   - clients: of the server that this one replaces, so that what is cached stays.
    ///   - metrics: likewise.
    package init(
        configuration: Configuration, signIn: SignInService, database: ServiceDatabase, google: GoogleProvider?,
        clients: OAuthClients, metrics: OAuthMetrics, logger: Logger
    ) {
        self.configuration = configuration
        self.signIn = signIn
        self.clients = clients
        grants = database.oauthGrants
        refreshes = database.oauthRefreshes
        successors = RefreshSuccessors(keyRing: database.keyRing)
        codes = WebCodes(for: .client, keyRing: database.keyRing)
        accounts = database.accounts
        sessions = database.sessions
        self.google = google
        self.metrics = metrics
        self.logger = logger
    }

    /// Makes the call of each request.
    package var calls: Calls { signIn.calls }

    /// Whether every redirect names the issuer (RFC 9207 §3). Google's don't.
    package func namesIssuer() async -> Bool { await !clients.mayHaveGoogles() }

    /// The client of an id, if it is known, whatever its status.
    func client(_ id: String?) async throws(SignInFailure) -> OAuthClient? {
        guard let id = id.flatMap(OAuthClientID.init) else { return nil }
        return try await SignIn.stored { try await clients.client(id)?.client }
    }

    func issuer(for client: OAuthClient) -> String? { client.isGoogles ? nil : configuration.issuer }
}
