import Hummingbird

/// Sign in with Apple.
enum Apple: ProviderProfile {
    enum Scope: String, CaseIterable, Sendable {
        case email
        case fullName
    }

    struct Options: Sendable {
        /// Whether later tokens repeat the address; Apple has been seen to do both.
        var repeatsEmail = false
        /// The choice on Apple's page at a first consent; nil where there was none.
        var hidesEmail: Bool?
    }

    static let name = ProviderName.apple
    static let keysPath = "auth/keys"
    /// Apple's tokens have none.
    static let tokenType: String? = nil
    static let codeLifetime: Int64 = 300
    static let accessLifetime: Int64 = 3600
    /// In current tokens; older ones lived 600 s.
    static let tokenLifetime: Int64 = 86_400
    static let disuse: Int64? = nil
    static let givesAppAccessToken = false
    static let cancelled = "user_cancelled_authorize"

    static func keys(_ seed: Seed) -> ProviderKeys.Profile {
        ProviderKeys.Profile(
            storeName: "apple", initialCount: 3, rotationLimit: 4, shuffles: true,
            // Apple documents no cache headers; an hour is what its verifiers commonly assume.
            cacheControl: "public, max-age=3600",
            makeID: { seed.alphanumeric(10, for: "apple.kid", String($0)) })
    }

    static func discovery(issuer: String, base: String) -> JSONObject {
        [
            "issuer": issuer,
            "authorization_endpoint": base + "/auth/authorize",
            "token_endpoint": base + "/auth/token",
            "revocation_endpoint": base + "/auth/revoke",
            "jwks_uri": base + "/auth/keys",
            "response_types_supported": ["code"],
            "response_modes_supported": ["query", "fragment", "form_post"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "name"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            "claims_supported": [
                "aud", "email", "email_verified", "exp", "iat", "is_private_email", "iss", "nonce", "nonce_supported",
                "real_user_status", "sub", "transfer_sub",
            ],
        ]
    }

    // MARK: Authorizations

    static func registry() -> AppleRegistry { AppleRegistry() }

    static func options(_ members: ControlMembers, clientID: String) -> Options {
        Options(repeatsEmail: members.flag("repeatEmail"))
    }

    static func share(
        _ person: inout ApplePerson, by request: AuthorizationRequest<Apple>, isFirst: Bool,
        _ registry: AppleRegistry, seed: Seed
    ) -> String? {
        let team = registry.team(of: request.clientID)
        if isFirst, let hides = request.options.hidesEmail { person.choose(toHide: hides, from: team) }
        let includesEmail = request.scopes.contains(.email) && (isFirst || request.options.repeatsEmail)
        return includesEmail ? person.address(team: team, seed: seed) : nil
    }

    static func code(_ number: String, seed: Seed) -> String { opaque("c", "code", number, seed) }

    static func accessToken(_ origin: String, seed: Seed) -> String { opaque("a", "access", origin, seed) }

    /// One with each exchange.
    static func newRefreshToken(
        for code: String, of pair: Pair, _ identity: Identity<Apple>, _ state: inout State, seed: Seed, at now: Int64
    ) -> String? {
        identity.request.exchange.omitsRefreshToken ? nil : opaque("r", "refresh", code, seed)
    }

    /// A code or token in Apple's format, derived from what it was made for.
    static func opaque(_ letter: String, _ kind: String, _ origin: String, _ seed: Seed) -> String {
        letter + seed.hexadecimal(32, for: "apple.\(kind)", origin) + ".0."
            + seed.lowercase(4, for: "apple.\(kind).zone", origin) + "."
            + seed.alphanumeric(22, for: "apple.\(kind).tail", origin)
    }

    static func check(_ form: EndpointForm, against identity: Identity<Apple>) throws(EndpointRefusal) {
        switch (identity.request.redirectURI, form["redirect_uri"]) {
        case (.none, .none): break
        case (.some, .none): throw .apple(.invalidRequest, "redirect_uri is missing")
        case (.none, .some): throw .apple(.invalidClient, "redirect_uri: the authorization had none")
        case (.some(let authorized), .some(let sent)):
            guard authorized == sent else { throw .apple(.invalidClient, "redirect_uri is another one") }
        }
    }

    static func listing(
        _ person: ApplePerson, _ clientID: String, _ state: State, seed: Seed, at now: Int64
    ) -> JSONObject {
        let subject = state.registry.subject(of: person, in: clientID, seed: seed, at: now)
        return ["teamId": subject.team, "subject": subject.text]
    }

    static func refusal(_ fault: GrantFault, of parameter: String) -> EndpointRefusal {
        .apple(.invalidGrant, "\(parameter): \(fault == .otherKind ? .unknown : fault)")
    }

    static func refusal(_ fault: EndpointForm.Fault) -> EndpointRefusal {
        switch fault {
        case .contentType: .apple(.invalidRequest, "not application/x-www-form-urlencoded")
        case .encoding: .apple(.invalidClient, "the form is not percent-encoded UTF-8")
        case .repeated(let name): .apple(.invalidRequest, "\(name) is there twice")
        case .missing(let name): .apple(.invalidRequest, "\(name) is missing")
        }
    }
}
