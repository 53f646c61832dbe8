import Hummingbird
import Primitives

/// Sign in with Google.
enum Google: ProviderProfile {
    enum Scope: String, CaseIterable, Sendable {
        case email
        case profile
    }

    struct Options: Sendable {
        /// The app's own client; nil leaves the claim out.
        var authorizedParty: String?
        /// Whether consent is asked for again, so that the exchange brings a refresh token although there is one.
        var forcesConsent = false
        /// Whether a refresh token is asked for, as a native app always does.
        var isOffline = true
        /// What the exchange of a browser's code must meet.
        var challenge: CodeChallenge?
    }

    static let name = ProviderName.google
    static let keysPath = "oauth2/v3/certs"
    static let tokenType: String? = "JWT"
    /// Google documents none; ten minutes are the most that RFC 6749 §4.1.2 recommends.
    static let codeLifetime: Int64 = 600
    /// As in Google's answers.
    static let accessLifetime: Int64 = 3599
    /// One hour, as Sign in with Google documents it.
    static let tokenLifetime: Int64 = 3600
    /// "Six months", taken as 183 days.
    static let disuse: Int64? = 183 * 86_400
    static let givesAppAccessToken = true
    static let cancelled = "access_denied"
    /// Live refresh tokens of a person for a client; one more silently ends the oldest.
    private static let grantLimit = 100

    static func keys(_ seed: Seed) -> ProviderKeys.Profile {
        ProviderKeys.Profile(
            storeName: "google", initialCount: 2, rotationLimit: 3, shuffles: false,
            cacheControl: "public, max-age=21600, must-revalidate, no-transform",
            makeID: { seed.hexadecimal(40, for: "google.kid", String($0)) })
    }

    /// Google's own document has more; these are served.
    static func discovery(issuer: String, base: String) -> JSONObject {
        [
            "issuer": issuer,
            "authorization_endpoint": base + "/o/oauth2/v2/auth",
            "token_endpoint": base + "/token",
            "revocation_endpoint": base + "/revoke",
            "jwks_uri": base + "/oauth2/v3/certs",
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "profile"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "claims_supported": [
                "aud", "email", "email_verified", "exp", "family_name", "given_name", "iat", "iss", "name", "picture",
                "sub",
            ],
            "code_challenge_methods_supported": ["plain", "S256"],
        ]
    }

    // MARK: Authorizations

    static func registry() -> GoogleRegistry { GoogleRegistry() }

    static func options(_ members: ControlMembers, clientID: String) -> Options {
        var options = Options(authorizedParty: clientID, forcesConsent: members.flag("forceConsent"))
        members.change(&options.authorizedParty, "azp")
        return options
    }

    static func share(
        _ person: inout GooglePerson, by request: AuthorizationRequest<Google>, isFirst: Bool,
        _ registry: GoogleRegistry, seed: Seed
    ) -> String? {
        request.scopes.contains(.email) ? person.email : nil
    }

    static func code(_ number: String, seed: Seed) -> String {
        "4/0A" + seed.alphanumeric(69, for: "google.code", number)
    }

    static func accessToken(_ origin: String, seed: Seed) -> String {
        "ya29." + seed.alphanumeric(120, for: "google.access", origin)
    }

    /// A refresh token comes with the first exchange after a consent: the person's first, the first after everything
    /// was revoked, and each with forced consent. A token that ended by limit or disuse is not replaced. A browser's
    /// request must have asked for one.
    static func newRefreshToken(
        for code: String, of pair: Pair, _ identity: Identity<Google>, _ state: inout State, seed: Seed, at now: Int64
    ) -> String? {
        let request = identity.request
        guard request.options.isOffline else { return nil }
        state.endDisused(pair, at: now)
        let grants = state.ledger.records[pair]?.grants ?? []
        let isHeld = grants.contains { $0.endedBy != .revoke && $0.endedBy != .withdraw }
        guard !request.exchange.omitsRefreshToken, request.options.forcesConsent || !isHeld else { return nil }
        let live = grants.filter(\.isLive)
        if live.count >= grantLimit, let oldest = live.first?.refreshToken {
            state.ledger.endGrants(of: pair, by: .limit, at: now) { $0.refreshToken == oldest }
        }
        return "1//0g" + seed.alphanumeric(98, for: "google.refresh", code)
    }

    /// The codes of native apps require an empty redirect URI.
    static func check(_ form: EndpointForm, against identity: Identity<Google>) throws(EndpointRefusal) {
        let redirectURI = form["redirect_uri"]
        if let authorized = identity.request.redirectURI {
            guard let redirectURI, redirectURI.hasSameBytes(as: authorized) else {
                throw .google(.redirectURIMismatch, "Bad Request", "redirect_uri is not that of the request")
            }
        } else {
            guard redirectURI == "" else {
                throw .google(.redirectURIMismatch, "Bad Request", "redirect_uri must be there and empty")
            }
        }
        switch (identity.request.options.challenge, form["code_verifier"]) {
        case (nil, nil): break
        case (nil, .some): throw .google(.invalidRequest, "code_verifier is not needed.")
        case (.some, nil): throw .google(.invalidGrant, "Missing code verifier.")
        case (.some(let challenge), .some(let verifier)):
            guard challenge.isMet(by: verifier) else { throw .google(.invalidGrant, "Invalid code verifier.") }
        }
    }

    static func listing(
        _ person: GooglePerson, _ clientID: String, _ state: State, seed: Seed, at now: Int64
    ) -> JSONObject {
        ["subject": person.subject(seed: seed)]
    }

    static func refusal(_ fault: GrantFault, of parameter: String) -> EndpointRefusal {
        switch (parameter, fault) {
        case ("code", .unknown): .google(.invalidGrant, "Malformed auth code.")
        case ("refresh_token", .ended): .google(.invalidGrant, "Token has been expired or revoked.")
        case (_, .foreign): .google(.unauthorizedClient, "Unauthorized", "\(parameter): foreign")
        case (_, .otherKind): .google(.invalidGrant, "Bad Request", "\(parameter): not one")
        default: .google(.invalidGrant, "Bad Request", "\(parameter): \(fault)")
        }
    }

    static func refusal(_ fault: EndpointForm.Fault) -> EndpointRefusal {
        switch fault {
        case .contentType: .google(.invalidRequest, "Not application/x-www-form-urlencoded")
        case .encoding: .google(.invalidRequest, "Not percent-encoded UTF-8")
        case .repeated(let name):
            .google(.invalidRequest, "OAuth 2 parameters can only have a single value: \(name)")
        case .missing(let name): .google(.invalidRequest, "Missing required parameter: \(name)")
        }
    }
}
