import OpenSSL
import Primitives

/// What binds a code to the client that asked for it (PKCE, RFC 7636).
struct CodeChallenge: Sendable {
    enum Method: String, CaseIterable, Sendable {
        case plain
        case s256 = "S256"
    }

    private let text: String
    private let method: Method

    /// nil unless the text is a challenge of this method (§4.2): the 43 characters of a digest, or a verifier itself.
    init?(_ text: String, _ method: Method) {
        guard Self.isVerifier(text) else { return nil }
        if method == .s256 {
            guard text.utf8.count == 43, let digest = Base64URL.decode(text), digest.count == 32 else { return nil }
        }
        self.text = text
        self.method = method
    }

    func isMet(by verifier: String) -> Bool {
        guard Self.isVerifier(verifier) else { return false }
        switch method {
        case .plain: return verifier == text
        case .s256: return Base64URL.encode(SHA256.hash(Array(verifier.utf8))) == text
        }
    }

    /// 43 to 128 unreserved characters (§4.1).
    private static func isVerifier(_ text: String) -> Bool {
        (43...128).contains(text.utf8.count) && text.utf8.allSatisfy(\.isURLUnreserved)
    }
}
