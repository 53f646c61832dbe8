import JSON

/// An app's authorization request: the body of `POST /control/apple/authorize`.
struct AppleAuthorization: Sendable {
    enum Scope: String, CaseIterable, Sendable {
        case email
        case fullName
    }

    var person: String
    var clientID: String
    var nonce: String?
    /// Any JSON value for `aud` in place of the client id.
    var audience: JSONValue?
    var scopes: Set<Scope> = Set(Scope.allCases)
    /// Whether later tokens repeat the address; Apple has been seen to do both.
    var repeatsEmail = false
    /// The redirect URI of a browser's request; nil for a native app's.
    var redirectURI: String?
    /// The choice on Apple's page at a first consent; nil where there was none.
    var hidesEmail: Bool?
    var overrides = TokenOverrides.none
    var exchange = ExchangePlan.none

    static let memberNames = [
        "person", "clientId", "nonce", "audience", "scopes", "repeatEmail", "redirectUri", "token", "exchange",
    ]

    /// A person's click on Apple's page.
    init(
        person: String, clientID: String, nonce: String?, scopes: Set<Scope>, redirectURI: String, hidesEmail: Bool?,
        overrides: TokenOverrides, exchange: ExchangePlan
    ) {
        self.person = person
        self.clientID = clientID
        self.nonce = nonce
        self.scopes = scopes
        self.redirectURI = redirectURI
        self.hidesEmail = hidesEmail
        self.overrides = overrides
        self.exchange = exchange
    }

    init(_ members: ControlMembers) throws(ControlRefusal) {
        person = try members.text("person")
        clientID = try members.clientID()
        nonce = try members.optionalText("nonce")
        audience = members.raw("audience")
        scopes = try members.choices("scopes", of: Scope.self) ?? scopes
        repeatsEmail = try members.flag("repeatEmail")
        if let token = try members.object("token", allowed: TokenOverrides.memberNames) {
            overrides = try TokenOverrides(token)
        }
        redirectURI = try members.optionalText("redirectUri")
        if let redirectURI, !RedirectURI.isPublic(redirectURI) {
            throw .invalid(
                "redirectUri must be https with a domain name and without a fragment, as Apple registers it.")
        }
        if let plan = try members.object("exchange", allowed: ExchangePlan.memberNames) {
            exchange = try ExchangePlan(plan)
        }
    }
}

/// Apple's side of an authorization: records the consent and issues the credential.
struct AppleAuthorizer: Sendable {
    let accounts: AppleAccounts
    let mint: TokenMint
    let issuer: String
    let clock: SandboxClock

    /// Seconds from `iat` to `exp` in current tokens; older ones lived 600 s.
    static let lifetime: Int64 = 86_400

    /// The contents of `ASAuthorizationAppleIDCredential`.
    struct Credential: Sendable {
        let user: String
        let identityToken: String
        let authorizationCode: String
        let isFirst: Bool
        /// This and the following members come with the first authorization only, as in the SDK.
        let email: String?
        let givenName: String?
        let familyName: String?
        let realUserStatus: Int64?
    }

    func authorize(_ request: AppleAuthorization) async throws -> Credential {
        // Before anything is recorded, so that a key that does not exist leaves no authorization behind.
        _ = try mint.signingKey(request.overrides)
        _ = try mint.signingKey(request.exchange.overrides)
        let now = clock.now
        let granted = try accounts.authorize(request, at: now)
        let identity = granted.identity
        let period = request.overrides.period(at: now, lifetime: Self.lifetime)
        let claims = identity.claims(
            issuer: issuer, audience: request.audience.map { .json($0) } ?? .string(request.clientID),
            subject: granted.subject, authenticatedAt: period.issued, period: period,
            hash: ("c_hash", of: granted.code), seed: accounts.seed)

        let person = identity.person
        let named = identity.isFirst && request.scopes.contains(.fullName)
        return Credential(
            user: granted.subject.text,
            identityToken: try await mint.mint(claims, overrides: request.overrides),
            authorizationCode: granted.code, isFirst: identity.isFirst,
            email: identity.isFirst ? identity.email : nil,
            givenName: named ? person.givenName : nil,
            familyName: named ? person.familyName : nil,
            realUserStatus: identity.hasRealUserStatus ? person.realUserStatus : nil)
    }
}
