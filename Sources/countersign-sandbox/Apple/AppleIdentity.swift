/// A person's subject in a team and, for sixty days after an app's transfer to that team, the transfer identifier.
struct AppleSubject: Sendable {
    let team: String
    let text: String
    let transfer: String?
}

extension Identity where Profile == Apple {
    /// Apple assesses the person on a device, at the first authorization of a native app.
    var hasRealUserStatus: Bool { isFirst && request.redirectURI == nil }

    /// The claims common to the app's token and the exchange's, in Apple's order.
    func claims(
        issuer: String, audience: any JSONEncodable, subject: AppleSubject, authenticatedAt: Int64,
        period: TokenPeriod, hash: (name: String, of: String), seed: Seed
    ) -> JSONObject {
        var claims: JSONObject = [
            "iss": issuer, "aud": audience, "exp": period.expires, "iat": period.issued, "sub": subject.text,
            "nonce": request.nonce, hash.name: HalfHash.text(of: hash.of),
        ]
        if let email {
            claims.set([
                "email": email, "email_verified": person.emailVerified,
                "is_private_email": person.hidesEmail(from: subject.team),
            ])
        }
        claims.set([
            "auth_time": authenticatedAt, "nonce_supported": true,
            "real_user_status": hasRealUserStatus ? person.realUserStatus : nil,
            "org_id": person.isManaged ? "org." + seed.hexadecimal(16, for: "apple.org", subject.team) : nil,
            "transfer_sub": subject.transfer,
        ])
        return claims
    }
}
