package import Accounts
package import KeyRing
import OpenSSL

/// What apps, clients of the OAuth server and browsers get for what people post on our own pages, or bring from a provider: a
/// code, or a cookie.
///
/// One is derived from the form or answer, the browser's cookie and the key ring's `codes` subkey: the same form of the same
/// browser has the same code, though the database has no more of it than the SHA-256.
package struct WebCodes: Sendable {
    /// Who gets a code. No text that is derived from begins as that of another use of the subkey.
    package enum Recipient: Sendable {
        case app
        case client
        /// The code is the cookie of this session; each has another, so that one that has ended never comes again.
        case browser(SessionID)

        fileprivate var domain: String {
            switch self {
            case .app: "countersign web code 1"
            case .client: "countersign oauth code 1"
            case .browser(let session): "countersign web session 1 \(session)"
            }
        }
    }

    private let recipient: Recipient
    private let keyRing: KeyRing

    package init(for recipient: Recipient, keyRing: KeyRing) {
        self.recipient = recipient
        self.keyRing = keyRing
    }

    /// Those for another recipient.
    func sent(to recipient: Recipient) -> WebCodes { WebCodes(for: recipient, keyRing: keyRing) }

    /// The code of what the browser goes on with; a random one where that is nothing.
    package func code(in reference: FlowReference) throws(SignInFailure) -> OpaqueSecret {
        guard let input = reference.input else { return try .fresh() }
        return try code(of: input, in: reference, under: keyRing.current(for: .codes))
    }

    /// The code of what the browser goes on with that is one looked for: it was derived under any line of the key ring.
    package func code(
        in reference: FlowReference, where isLookedFor: (OpaqueSecret) -> Bool
    ) throws(SignInFailure) -> OpaqueSecret? {
        guard let input = reference.input else { return nil }
        for subkey in keyRing.all(for: .codes) {
            let code = try code(of: input, in: reference, under: subkey)
            if isLookedFor(code) { return code }
        }
        return nil
    }

    private func code(
        of input: [UInt8], in reference: FlowReference, under subkey: KeyRing.Subkey
    ) throws(SignInFailure) -> OpaqueSecret {
        // The input is last: before it are ids and a cookie, which have no blank in them.
        let message = Array("\(recipient.domain) \(reference.id) \(reference.browser.text) ".utf8) + input
        do {
            return OpaqueSecret(bytes: try HMACSHA256.authenticationCode(for: message, key: subkey.bytes).bytes)
        } catch {
            throw .fault(operation: "derive a code")
        }
    }
}
