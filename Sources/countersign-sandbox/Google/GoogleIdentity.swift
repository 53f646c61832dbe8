extension Identity where Profile == Google {
    /// The name, if this authorization's tokens have one.
    var name: String? { request.scopes.contains(.profile) ? person.displayName : nil }

    /// The claims common to the app's token and the server's tokens, in Google's order.
    func claims(
        issuer: String, audience: any JSONEncodable, authorizedParty: String?, nonce: String?, accessToken: String,
        period: TokenPeriod, seed: Seed
    ) -> JSONObject {
        var claims: JSONObject = [
            "iss": issuer, "azp": authorizedParty, "aud": audience, "sub": person.subject(seed: seed),
            "hd": person.hostedDomain, "email": email, "email_verified": email == nil ? nil : person.emailVerified,
            "at_hash": HalfHash.text(of: accessToken), "nonce": nonce,
        ]
        if request.scopes.contains(.profile) { claims.set(person.profile) }
        claims.set(["iat": period.issued, "exp": period.expires])
        return claims
    }
}

extension Google {
    private static let scopePrefix = "https://www.googleapis.com/auth/userinfo."

    /// A scope by one of its two names.
    static func scope(_ word: String) -> Scope? {
        Scope(rawValue: word.hasPrefix(scopePrefix) ? String(word.dropFirst(scopePrefix.count)) : word)
    }

    /// The `scope` of an answer with tokens.
    static func scopeText(_ scopes: Set<Scope>) -> String {
        (["openid"] + names(of: scopes).map { scopePrefix + $0 }).joined(separator: " ")
    }

    /// The `scope` of the answer to a browser: both names of each scope.
    static func grantedScopes(_ scopes: Set<Scope>) -> String {
        let names = names(of: scopes)
        return (names + ["openid"] + names.map { scopePrefix + $0 }).joined(separator: " ")
    }

    private static func names(of scopes: Set<Scope>) -> [String] {
        Scope.allCases.filter(scopes.contains).map(\.rawValue)
    }
}
