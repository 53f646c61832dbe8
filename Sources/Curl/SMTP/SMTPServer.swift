import CCurl
import Primitives

/// A mail server, given by a URL: `smtp://user:password@host:587`, or `smtps:` where TLS comes first. A path is the
/// name by which this machine greets the server (RFC 5321 §4.1.1.1); the default is the machine's own.
package struct SMTPServer: Sendable {
    package enum Security: Sendable {
        /// TLS from the first byte (RFC 8314 §3.3).
        case tls
        /// STARTTLS (RFC 3207) before anything but the greeting; no mail without it.
        case startTLS
        /// No TLS, for this machine alone.
        case none
    }

    package var security: Security
    /// The URL without user and password.
    let url: String
    let user: String
    let password: String

    /// Nil unless `text` is such a URL.
    package init?(_ text: String) {
        guard let url = try? RequestURL.parse(anyProtocol: text) else { return nil }
        switch url.part(CURLUPART_SCHEME) {
        case "smtps": security = .tls
        case "smtp": security = url.isLoopback ? .none : .startTLS
        default: return nil
        }
        let isHostName = url.part(CURLUPART_PATH).utf8.dropFirst().allSatisfy { byte in
            byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
        user = url.part(CURLUPART_USER, flags: CURLU_URLDECODE)
        password = url.part(CURLUPART_PASSWORD, flags: CURLU_URLDECODE)
        // A part that is there and decodes to nothing held control characters.
        guard isHostName, user.isEmpty == url.part(CURLUPART_USER).isEmpty,
            password.isEmpty == url.part(CURLUPART_PASSWORD).isEmpty, password.isEmpty || !user.isEmpty,
            [CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT].allSatisfy({ url.part($0).isEmpty })
        else { return nil }
        url.remove(CURLUPART_USER)
        url.remove(CURLUPART_PASSWORD)
        self.url = url.part(CURLUPART_URL)
    }
}

/// Printed in any way, it shows neither user nor password.
extension SMTPServer: CustomStringConvertible, CustomReflectable {
    package var description: String { url }
    package var customMirror: Mirror { Mirror(self, children: ["url": url]) }
}
