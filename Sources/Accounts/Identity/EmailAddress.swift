import Foundation
import Primitives

/// An email address, normalised once: what is compared, stored and mailed.
///
/// - The domain becomes lower-case ASCII by IDNA (UTS #46 non-transitional processing).
/// - An ASCII local part folds to lower case. A local part with any other character is kept byte for byte: Unicode
///   folding maps different mailboxes onto one (`U+212A`, `U+0131`), which is how accounts were taken over.
package struct EmailAddress: ExactString {
    package let text: String

    /// The longest address that fits SMTP's path of 256 octets with its angle brackets (RFC 5321 §4.5.3.1.3).
    package static let maximumBytes = 254

    /// `nil` for whatever is not of the form `local@domain`, holds a control, a space or what isn't shown, or is over 254
    /// bytes before or after normalisation. For an address that comes into being here; ``existing(_:)`` for any other.
    package init?(_ address: String) { self.init(address, mayExist: false) }

    /// An address that an account may have: of a row of ours, or one to look for. Those from before may hold what isn't
    /// shown.
    package static func existing(_ text: String) -> EmailAddress? { EmailAddress(text, mayExist: true) }

    private init?(_ address: String, mayExist: Bool) {
        let bytes = Array(address.utf8)
        guard bytes.count <= EmailAddress.maximumBytes,
            let at = bytes.firstIndex(of: UInt8(ascii: "@")), at > 0, at < bytes.count - 1,
            !bytes[(at + 1)...].contains(UInt8(ascii: "@"))
        else { return nil }
        let normalised: [UInt8]
        if bytes.allSatisfy({ $0 < 0x80 }) {
            guard !bytes.contains(where: { EmailAddress.isForbidden(Unicode.Scalar($0)) }) else { return nil }
            normalised = bytes.map { $0.asciiLowercased }
        } else {
            // Selectors of variants and fillers, which are marks and letters: with one `kim@` looks as without.
            let isRefused = { (scalar: Unicode.Scalar) in
                EmailAddress.isForbidden(scalar) || !mayExist && scalar.properties.isDefaultIgnorableCodePoint
            }
            guard !address.unicodeScalars.contains(where: isRefused),
                let domain = EmailAddress.asciiDomain(bytes[(at + 1)...])
            else { return nil }
            let local = bytes[..<at]
            let isASCII = local.allSatisfy { $0 < 0x80 }
            normalised = (isASCII ? local.map { $0.asciiLowercased } : Array(local)) + [UInt8(ascii: "@")] + domain
        }
        guard normalised.count <= EmailAddress.maximumBytes, EmailAddress.isHostName(normalised[(at + 1)...]) else {
            return nil
        }
        self.text = normalised == bytes ? address : String(decoding: normalised, as: UTF8.self)
    }

    /// The domain, lower-case ASCII.
    package var domain: String {
        guard let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return "" }
        return String(text[text.utf8.index(after: at)...])
    }

    /// The local part's first character and the domain, to show that an address exists without revealing which:
    /// `j***@example.com`.
    package var masked: String { (text.first.map(String.init) ?? "") + "***@" + domain }

    /// Controls, spaces and the characters that open a quoted or bracketed form, which no provider issues.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\"", "<", ">", "(", ")", "[", "]", ",", ";", ":", "\\": true
        case "\u{21}"..."\u{7E}": false
        case "\u{00}"..."\u{7F}": true
        default: scalar.properties.isWhitespace || invisible.contains(scalar.properties.generalCategory)
        }
    }

    private static let invisible: Set<Unicode.GeneralCategory> = [.control, .format, .surrogate, .unassigned]

    private static func asciiDomain(_ domain: ArraySlice<UInt8>) -> [UInt8]? {
        guard !domain.allSatisfy({ $0 < 0x80 }) else { return domain.map { $0.asciiLowercased } }
        var components = URLComponents()
        components.host = String(decoding: domain, as: UTF8.self)
        return components.encodedHost?.utf8.map { $0.asciiLowercased }
    }

    private static func isHostName(_ name: ArraySlice<UInt8>) -> Bool {
        var rest = name
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            guard isHostLabel(rest[..<dot]) else { return false }
            rest = rest[(dot + 1)...]
        }
        return isHostLabel(rest)
    }

    /// Letters, digits and inner hyphens, 1 to 63 octets (RFC 1123 §2.1).
    private static func isHostLabel(_ label: ArraySlice<UInt8>) -> Bool {
        (1...63).contains(label.count) && label.first != 0x2D && label.last != 0x2D
            && label.allSatisfy { ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2D }
    }
}
