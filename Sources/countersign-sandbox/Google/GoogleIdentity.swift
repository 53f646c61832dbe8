import JOSE

/// What one authorization allows Google's tokens to state about a person.
struct GoogleIdentity: Sendable {
    let person: GooglePerson
    /// The client that the code belongs to.
    let serverClientID: String
    let nonce: String?
    let scopes: Set<GoogleAuthorization.Scope>
    let forcesConsent: Bool
    let exchange: ExchangePlan

    var email: String? { scopes.contains(.email) ? person.email : nil }
    var name: String? { scopes.contains(.profile) ? person.displayName : nil }

    /// The `scope` of an answer with tokens.
    var scopeText: String {
        var names = ["openid"]
        if scopes.contains(.email) { names.append("https://www.googleapis.com/auth/userinfo.email") }
        if scopes.contains(.profile) { names.append("https://www.googleapis.com/auth/userinfo.profile") }
        return names.joined(separator: " ")
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
