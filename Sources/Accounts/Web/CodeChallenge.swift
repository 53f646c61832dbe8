import Primitives

/// The proof that an authorization code is redeemed by whom it was requested for (RFC 7636), by the method S256.
package enum CodeChallenge {
    /// Whether a text can be a challenge: the base64url of 32 bytes.
    package static func isChallenge(_ text: String) -> Bool {
        text.utf8.count == 43
            && text.utf8.allSatisfy { $0.isURLUnreserved && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "~") }
    }

    /// Whether a text can be a verifier: 43 to 128 unreserved characters (RFC 7636 §4.1).
    package static func isVerifier(_ text: String) -> Bool {
        (43...128).contains(text.utf8.count) && text.utf8.allSatisfy(\.isURLUnreserved)
    }
}
