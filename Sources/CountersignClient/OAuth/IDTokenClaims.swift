import Foundation

/// What an ID token says (OpenID Connect Core §2), read and **not verified**: a label, never a proof. Every ID token has
/// these claims.
struct IDTokenClaims: Sendable {
    let issuer: String
    let subject: String
    let audience: [String]
    /// Seconds since 1970, as the next.
    let expiresAt: Double
    let issuedAt: Double
    let others: [String: JSONValue]

    /// nil for a text without them.
    init?(_ token: String) {
        guard let claims = unverifiedClaims(of: token), let issuer = claims["iss"]?.string,
            let subject = claims["sub"]?.string, case .number(let expiresAt) = claims["exp"],
            case .number(let issuedAt) = claims["iat"]
        else { return nil }
        switch claims["aud"] {
        case .string(let one): audience = [one]
        case .array(let several): audience = several.compactMap(\.string)
        default: return nil
        }
        (self.issuer, self.subject, self.expiresAt, self.issuedAt) = (issuer, subject, expiresAt, issuedAt)
        others = claims
    }

    /// Whether a token endpoint has just issued it for this client. A clock that is wrong by more than ten minutes is a
    /// reason to refuse it, as in AppAuth.
    func isIssued(to clientID: String, by expected: URL?, at now: Date) -> Bool {
        let time = now.timeIntervalSince1970
        let isIssuer = expected.map { $0.absoluteString.withoutSlash == issuer.withoutSlash } ?? true
        let isAudience = audience.contains(clientID) || others["azp"]?.string == clientID
        return isIssuer && isAudience && expiresAt > time && abs(issuedAt - time) <= 600
    }
}
