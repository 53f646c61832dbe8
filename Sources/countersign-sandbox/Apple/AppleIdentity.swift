import JOSE

/// What one authorization lets Apple's tokens say about a person.
struct AppleIdentity: Sendable {
    let person: ApplePerson
    let clientID: String
    let nonce: String?
    /// Of the browser's request; none for a native app.
    let redirectURI: String?
    /// The address, if this authorization's tokens have one.
    let email: String?
    /// Only the first authorization of a client carries how real the person looks.
    let isFirst: Bool
    let authorizedAt: Int64
    let exchange: ExchangePlan

    /// The claims that the token of the app and the token of the exchange have in common, in Apple's order.
    func claims(
        issuer: String, audience: ClaimSet.Value, subject: AppleSubject, authenticatedAt: Int64,
        period: (issued: Int64, expires: Int64), hash: (name: String, of: String), seed: Seed
    ) -> ClaimSet {
        var claims = ClaimSet()
        claims.set("iss", issuer)
        claims.set("aud", audience)
        claims.set("exp", .integer(period.expires))
        claims.set("iat", .integer(period.issued))
        claims.set("sub", subject.text)
        claims.set("nonce", nonce)
        claims.set(hash.name, HalfHash.text(of: hash.of))
        if let email {
            claims.set("email", email)
            claims.set("email_verified", .bool(person.emailVerified))
            claims.set("is_private_email", .bool(person.hidesEmail))
        }
        claims.set("auth_time", .integer(authenticatedAt))
        claims.set("nonce_supported", .bool(true))
        if isFirst { claims.set("real_user_status", .integer(person.realUserStatus)) }
        if person.isManaged { claims.set("org_id", "org." + seed.hexadecimal(16, for: "apple.org", subject.team)) }
        claims.set("transfer_sub", subject.transfer)
        return claims
    }
}

/// By what a team knows a person, and, for sixty days after an app has come to it, by what the former team can be asked.
struct AppleSubject: Sendable {
    let team: String
    let text: String
    let transfer: String?
}
