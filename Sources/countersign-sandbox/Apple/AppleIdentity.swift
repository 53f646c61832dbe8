import JOSE

/// What one authorization allows Apple's tokens to state about a person.
struct AppleIdentity: Sendable {
    let person: ApplePerson
    let clientID: String
    let nonce: String?
    /// The redirect URI of a browser's request; nil for a native app's.
    let redirectURI: String?
    /// The address, if this authorization's tokens have one.
    let email: String?
    /// Whether it is the person's first authorization of the client.
    let isFirst: Bool
    let authorizedAt: Int64
    let exchange: ExchangePlan

    /// Apple assesses the person on a device, at the first authorization of a native app.
    var hasRealUserStatus: Bool { isFirst && redirectURI == nil }

    /// The claims common to the app's token and the exchange's, in Apple's order.
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
            claims.set("is_private_email", .bool(person.hidesEmail(from: subject.team)))
        }
        claims.set("auth_time", .integer(authenticatedAt))
        claims.set("nonce_supported", .bool(true))
        if hasRealUserStatus { claims.set("real_user_status", .integer(person.realUserStatus)) }
        if person.isManaged { claims.set("org_id", "org." + seed.hexadecimal(16, for: "apple.org", subject.team)) }
        claims.set("transfer_sub", subject.transfer)
        return claims
    }
}

/// A person's subject in a team and, for sixty days after an app's transfer to that team, the transfer identifier.
struct AppleSubject: Sendable {
    let team: String
    let text: String
    let transfer: String?
}
