import Foundation
import Primitives

/// A client's credentials, by one of the two methods of RFC 6749 §2.3.1.
package struct ClientAuthentication: Sendable {
    let clientID: String
    let secret: String

    /// - Parameters:
    ///   - authorizations: the header fields of this name; one at most.
    ///   - clientID, clientSecret: of the form.
    package init(authorizations: [String], clientID: String?, clientSecret: String?) throws(OAuthFailure) {
        guard let authorization = authorizations.first else {
            guard let clientID, let clientSecret else { throw .invalidClient }
            (self.clientID, self.secret) = (clientID, clientSecret)
            return
        }
        guard clientSecret == nil, authorizations.count == 1 else {
            throw .invalidRequest("two ways of client authentication")
        }
        guard let (id, secret) = Self.basic(authorization) else { throw .invalidClient }
        if let clientID, !clientID.hasSameBytes(as: id) {
            throw .invalidRequest("client_id differs from the one of the Authorization field")
        }
        (self.clientID, self.secret) = (id, secret)
    }

    /// Each half is form-encoded before the whole is encoded in base64 (RFC 6749 §2.3.1).
    private static func basic(_ field: String) -> (id: String, secret: String)? {
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let bytes = Base64.decode(parts[1].trimmingCharacters(in: .whitespaces)),
            let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":"),
            let id = formDecoded(text[..<colon]), let secret = formDecoded(text[text.index(after: colon)...])
        else { return nil }
        return (id, secret)
    }

    private static func formDecoded(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding
    }
}
