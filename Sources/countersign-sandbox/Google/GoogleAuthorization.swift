import JSON

/// An app's authorization request: the body of `POST /control/google/authorize`.
struct GoogleAuthorization: Sendable {
    enum Scope: String, CaseIterable, Sendable {
        case email
        case profile
    }

    var person: String
    /// The client that the token is for: the server's, or the app's own when it has no server client.
    var clientID: String
    /// The client that the code belongs to.
    var serverClientID: String
    /// The app's own client; nil leaves the claim out.
    var authorizedParty: String?
    var nonce: String?
    /// Any JSON value for `aud` in place of the client id.
    var audience: JSONValue?
    var scopes: Set<Scope> = Set(Scope.allCases)
    /// Whether consent is asked for again, so that the exchange brings a refresh token although there is one.
    var forcesConsent = false
    /// The browser's request; nil for a native app's.
    var webRequest: GoogleIdentity.WebRequest?
    var overrides = TokenOverrides.none
    var exchange = ExchangePlan.none

    static let memberNames = [
        "person", "clientId", "serverClientId", "azp", "nonce", "audience", "scopes", "forceConsent", "token",
        "exchange",
    ]

    /// A person's click on Google's page.
    init(
        person: String, clientID: String, nonce: String?, scopes: Set<Scope>, forcesConsent: Bool,
        webRequest: GoogleIdentity.WebRequest, exchange: ExchangePlan
    ) {
        self.person = person
        self.clientID = clientID
        serverClientID = clientID
        authorizedParty = clientID
        self.nonce = nonce
        self.scopes = scopes
        self.forcesConsent = forcesConsent
        self.webRequest = webRequest
        self.exchange = exchange
    }

    init(_ members: ControlMembers) throws(ControlRefusal) {
        person = try members.text("person")
        clientID = try members.clientID()
        serverClientID = members.raw("serverClientId") == nil ? clientID : try members.identifier("serverClientId")
        authorizedParty = clientID
        try members.change(&authorizedParty, "azp")
        nonce = try members.optionalText("nonce")
        audience = members.raw("audience")
        scopes = try members.choices("scopes", of: Scope.self) ?? scopes
        if let token = try members.object("token", allowed: TokenOverrides.memberNames) {
            overrides = try TokenOverrides(token)
        }
        forcesConsent = try members.flag("forceConsent")
        if let plan = try members.object("exchange", allowed: ExchangePlan.memberNames) {
            exchange = try ExchangePlan(plan)
        }
    }
}

/// Google's side of an authorization: records the consent and issues the result.
struct GoogleAuthorizer: Sendable {
    let accounts: GoogleAccounts
    let mint: TokenMint
    let issuer: String
    let clock: SandboxClock

    /// Seconds from `iat` to `exp`: one hour, as Sign in with Google documents it.
    static let lifetime: Int64 = 3600

    /// What `GIDSignInResult` or the Credential Manager returns.
    struct Result: Sendable {
        let userID: String
        let idToken: String
        let serverAuthCode: String
        let accessToken: String
        let email: String?
        let name: String?
    }

    func authorize(_ request: GoogleAuthorization) async throws -> Result {
        // Before anything is recorded, so that a key that does not exist leaves no authorization behind.
        _ = try mint.signingKey(request.overrides)
        _ = try mint.signingKey(request.exchange.overrides)
        let now = clock.now
        let granted = try accounts.authorize(request, at: now)
        let identity = granted.identity
        let claims = identity.claims(
            issuer: issuer, audience: request.audience.map { .json($0) } ?? .string(request.clientID),
            authorizedParty: request.authorizedParty, nonce: request.nonce, accessToken: granted.accessToken,
            period: request.overrides.period(at: now, lifetime: Self.lifetime), seed: accounts.seed)
        return Result(
            userID: identity.person.subject(seed: accounts.seed),
            idToken: try await mint.mint(claims, overrides: request.overrides),
            serverAuthCode: granted.code, accessToken: granted.accessToken, email: identity.email,
            name: identity.name)
    }
}
