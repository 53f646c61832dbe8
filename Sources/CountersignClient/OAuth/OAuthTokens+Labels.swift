import Foundation

extension OAuthTokens {
    /// With the labels of the ID token where it can be read; they go before those of other origin. As GTMAppAuth reads
    /// it: the claims that every ID token has must be there, the signature is not looked at.
    func labelled() -> Self {
        guard let claims = idToken.flatMap(IDTokenClaims.init) else { return self }
        var tokens = self
        tokens.userID = claims.subject
        if let email = claims.others["email"]?.string {
            // What was verified is an address, not the next one.
            if email != userEmail { tokens.userEmailIsVerified = false }
            tokens.userEmail = email
        }
        switch claims.others["email_verified"] {
        case .bool(let verified): tokens.userEmailIsVerified = verified
        case .string(let text): tokens.userEmailIsVerified = isTrue(text)
        default: break
        }
        return tokens
    }

    /// Something to authorize with, now or after a refresh.
    var isUsable: Bool { [accessToken, refreshToken, idToken].contains { !($0 ?? "").isEmpty } }

    /// The labels alone.
    var withoutSecrets: Self { Self(userID: userID, userEmail: userEmail, userEmailIsVerified: userEmailIsVerified) }
}

/// What the older libraries took for true (`NSString.boolValue`): after white space, a sign and zeros, one of `1`–`9`,
/// `T`, `t`, `Y`, `y`.
func isTrue(_ text: String) -> Bool {
    var rest = text.drop { $0.isWhitespace }
    if let sign = rest.first, sign == "+" || sign == "-" { rest = rest.dropFirst() }
    guard let first = rest.drop(while: { $0 == "0" }).first else { return false }
    return "123456789TtYy".contains(first)
}

/// Whether a text can stand in a header as a token (RFC 6749 §A.12, without spaces).
func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }
