import JSON

/// An authorization request: that of an app, which is the body of `POST /control/…/authorize`, or that of a browser.
struct AuthorizationRequest<Profile: ProviderProfile>: Sendable {
    let person: String
    /// The client that the app's token is for: the app's own or, at Google, the server's.
    let clientID: String
    /// The client that the code belongs to.
    let codeClientID: String
    let nonce: String?
    /// Any JSON value for `aud` in place of the client id.
    let audience: JSONValue?
    let scopes: Set<Profile.Scope>
    /// The redirect URI of a browser's request; nil for a native app's.
    let redirectURI: String?
    let options: Profile.Options
    let overrides: TokenOverrides
    let exchange: ExchangePlan

    init(_ members: ControlMembers) {
        person = members.text("person")
        clientID = members.clientID()
        codeClientID = Profile.name == .google ? members.optionalIdentifier("serverClientId") ?? clientID : clientID
        nonce = members.optionalText("nonce")
        audience = members.raw("audience")
        scopes = members.choices("scopes") ?? Set(Profile.Scope.allCases)
        redirectURI = Profile.name == .apple ? members.optionalText("redirectUri") : nil
        if let redirectURI, !RedirectURI.isPublic(redirectURI) {
            members.refuse(
                "redirectUri must be https with a domain name and without a fragment, as Apple registers it.")
        }
        options = Profile.options(members, clientID: clientID)
        overrides = members.object("token", TokenOverrides.init) ?? .none
        exchange = members.object("exchange", ExchangePlan.init) ?? .none
    }

    /// A person's click on the provider's page.
    init(_ asked: Profile.Asked, person: String, _ options: Profile.Options, _ alteration: BrowserAlteration) {
        self.person = person
        clientID = asked.clientID
        codeClientID = asked.clientID
        nonce = asked.nonce
        audience = nil
        scopes = asked.scopes
        redirectURI = asked.redirectURI
        self.options = options
        overrides = alteration.overrides
        exchange = alteration.exchange
    }

    /// The `aud` of the app's token.
    var tokenAudience: any JSONEncodable { if let audience { audience } else { clientID } }
}

/// What one authorization allows the provider's tokens to state about a person.
struct Identity<Profile: ProviderProfile>: Sendable {
    let person: Profile.Person
    let request: AuthorizationRequest<Profile>
    /// The address, if this authorization's tokens have one.
    let email: String?
    /// Whether it is the person's first authorization of the client.
    let isFirst: Bool
    let authorizedAt: Int64
}
