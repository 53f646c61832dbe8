import JOSE

/// What one authorization allows Google's tokens to state about a person.
struct GoogleIdentity: Sendable {
    let person: GooglePerson
    /// The client that the code belongs to.
    let serverClientID: String
    let nonce: String?
    let scopes: Set<GoogleAuthorization.Scope>
    let forcesConsent: Bool
    /// The browser's request; nil for a native app's.
    let webRequest: WebRequest?
    let exchange: ExchangePlan

    /// What the exchange of a browser's code is held to.
    struct WebRequest: Sendable {
        let redirectURI: String
        let challenge: CodeChallenge?
        /// Whether a refresh token was asked for.
        let isOffline: Bool
    }

    static let scopePrefix = "https://www.googleapis.com/auth/userinfo."

    var email: String? { scopes.contains(.email) ? person.email : nil }
    var name: String? { scopes.contains(.profile) ? person.displayName : nil }

    /// The `scope` of an answer with tokens.
    var scopeText: String {
        (["openid"] + Self.names(of: scopes).map { Self.scopePrefix + $0 }).joined(separator: " ")
    }

    /// The `scope` of the answer to a browser: both names of each scope.
    static func grantedScopes(_ scopes: Set<GoogleAuthorization.Scope>) -> String {
        let names = names(of: scopes)
        return (names + ["openid"] + names.map { scopePrefix + $0 }).joined(separator: " ")
    }

    private static func names(of scopes: Set<GoogleAuthorization.Scope>) -> [String] {
        GoogleAuthorization.Scope.allCases.filter(scopes.contains).map(\.rawValue)
    }

    /// The claims common to the app's token and the server's tokens, in Google's order.
    func claims(
        issuer: String, audience: ClaimSet.Value, authorizedParty: String?, nonce: String?, accessToken: String,
        period: (issued: Int64, expires: Int64), seed: Seed
    ) -> ClaimSet {
        var claims = ClaimSet()
        claims.set("iss", issuer)
        claims.set("azp", authorizedParty)
        claims.set("aud", audience)
        claims.set("sub", person.subject(seed: seed))
        claims.set("hd", person.hostedDomain)
        if let email {
            claims.set("email", email)
            claims.set("email_verified", .bool(person.emailVerified))
        }
        claims.set("at_hash", HalfHash.text(of: accessToken))
        claims.set("nonce", nonce)
        if scopes.contains(.profile) {
            claims.set("name", person.displayName)
            claims.set("picture", person.picture)
            claims.set("given_name", person.givenName)
            claims.set("family_name", person.familyName)
        }
        claims.set("iat", .integer(period.issued))
        claims.set("exp", .integer(period.expires))
        return claims
    }
}
