package import Accounts
package import HTTPServer
package import OAuthServer
package import SignIn

/// The API for apps, and the documents for verifiers of our tokens.
package struct MobileAPI: Sendable {
    let providers: ProviderSignIn
    let nonces: SignInNonces
    let tickets: TicketLinking
    let linking: IdentityLinking
    let passwords: PasswordSignIn
    let emailCodes: EmailCodeSignIn
    let sessions: Sessions
    let accounts: AccountSettings
    /// `nil` where the web sign-in is off.
    let web: WebSignIn?
    /// `nil` where the OAuth server is off.
    let oauth: OAuthServer?
    let accessTokens: AccessTokens
    /// The URL of the public listener, without a final slash.
    let publicURL: String

    package init(
        providers: ProviderSignIn, nonces: SignInNonces, tickets: TicketLinking, linking: IdentityLinking,
        passwords: PasswordSignIn, emailCodes: EmailCodeSignIn, sessions: Sessions, accounts: AccountSettings,
        web: WebSignIn?, oauth: OAuthServer? = nil, accessTokens: AccessTokens, publicURL: String
    ) {
        self.providers = providers
        self.nonces = nonces
        self.tickets = tickets
        self.linking = linking
        self.passwords = passwords
        self.emailCodes = emailCodes
        self.sessions = sessions
        self.accounts = accounts
        self.web = web
        self.oauth = oauth
        self.accessTokens = accessTokens
        self.publicURL = publicURL
    }

    package var routes: [Route] {
        signInRoutes + webSignInRoutes + emailCodeRoutes + nonceRoutes + linkRoutes + accountRoutes
            + emailReplacementRoutes
            + sessionRoutes + linkedClientRoutes + discoveryRoutes
    }

    /// The session of the access token that the request bears.
    func session(of request: Request) async throws -> Session {
        guard case .token(let token) = request.bearer else { throw Problem(.invalidSession) }
        return try await sessions.session(of: token)
    }
}

extension Request {
    package func caller(device: Device?) -> Client {
        Client(
            requestID: id, address: client.text, network: client.network, wideNetwork: client.wideNetwork,
            device: device,
            languages: AcceptLanguage.tags(header("Accept-Language")))
    }
}

extension RequestFields {
    /// The object `device`, each member of which may be absent.
    mutating func device() throws -> Device? {
        try optionalObject("device") { device in
            Device(
                name: device.optionalString("name", maximumBytes: 128),
                platform: device.optionalString("platform", maximumBytes: 64))
        }
    }

    /// The `displayName`; one without a visible character counts as absent.
    mutating func displayName() -> DisplayName? {
        optionalString("displayName", maximumBytes: 1024).flatMap(DisplayName.init)
    }
}
