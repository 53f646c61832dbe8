import Primitives

/// The credential of `Authorization: Bearer` (RFC 6750 §2.1).
package enum Bearer: Equatable, Sendable {
    case absent
    /// A field that is of another scheme, and says nothing of a token (RFC 6750 §3).
    case otherScheme
    /// Two fields, an empty or overlong token, or characters that no token contains.
    case malformed
    case token([UInt8])

    /// The limit of a whole header section.
    static let maximumBytes = 16 * 1024

    init(_ fields: [String]) { self = Self.read(fields) }

    private static func read(_ fields: [String]) -> Bearer {
        guard let field = fields.first else { return .absent }
        let scheme = "bearer ".utf8
        let octets = Array(field.utf8)
        // The scheme alone is a bearer's without a token.
        let isOfScheme =
            octets.prefix(6).equalsIgnoringASCIICase("bearer".utf8) && (octets.count == 6 || octets[6] == 0x20)
        guard fields.count > 1 || isOfScheme || octets.isEmpty else { return .otherScheme }
        let token = octets.dropFirst(scheme.count).drop { $0 == 0x20 }
        guard fields.count == 1, octets.prefix(scheme.count).equalsIgnoringASCIICase(scheme),
            1...maximumBytes ~= token.count,
            token.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: ",") })
        else { return .malformed }
        return .token(Array(token))
    }
}
