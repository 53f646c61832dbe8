import Primitives

/// A redirect URI that an app is registered with: where a web flow may hand over its code.
///
/// Registrable are https URIs, http ones on a loopback address (RFC 8252 §7.3), and those of a private-use scheme with a
/// dot in it (§7.1). None has userinfo, a fragment, a wildcard, a path segment that climbs, or a parameter of ours.
package struct AppRedirectURI: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case https
        case loopback
        /// With its scheme. Another app on the device may claim it (RFC 8252 §8.6).
        case privateScheme(String)
    }

    package static let maximumBytes = 1_024

    package let text: String
    package let kind: Kind
    /// `scheme://host`, without the port, or `scheme:`.
    private let base: String
    /// What follows the authority.
    private let rest: String

    package init?(registering text: String) {
        let bytes = Array(text.utf8)
        guard (1...Self.maximumBytes).contains(bytes.count), bytes.allSatisfy(Self.isAllowed), !text.contains(".."),
            !text.lowercased().contains("%2e"), let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        let scheme = String(decoding: bytes[..<colon], as: UTF8.self)
        let afterScheme = bytes[(colon + 1)...]
        guard Self.isScheme(bytes[..<colon]), afterScheme.first == UInt8(ascii: "/") else { return nil }
        let hasAuthority = afterScheme.starts(with: "//".utf8)
        let afterSlashes = hasAuthority ? afterScheme.dropFirst(2) : afterScheme
        let end = hasAuthority ? afterSlashes.firstIndex(where: Self.endsAuthority) ?? afterSlashes.endIndex : nil
        let authority = end.map { afterSlashes[..<$0] } ?? []
        let rest = end.map { afterSlashes[$0...] } ?? afterSlashes
        guard !authority.contains(UInt8(ascii: "@")), !Self.hasReservedParameter(rest) else { return nil }
        self.text = text
        self.rest = String(decoding: rest, as: UTF8.self)
        switch scheme {
        case "https", "http":
            guard let host = Self.host(of: authority) else { return nil }
            let isLoopback = host == "127.0.0.1" || host == "[::1]"
            guard scheme == "https" ? Self.isDomainName(host) : isLoopback else { return nil }
            kind = scheme == "https" ? .https : .loopback
            base = "\(scheme)://\(host)"
        default:
            guard scheme.utf8.contains(UInt8(ascii: ".")) else { return nil }
            kind = .privateScheme(scheme)
            base = "\(scheme):"
        }
    }

    /// Whether a request's URI is this one: by its bytes, but for the port of a loopback address, which an app learns
    /// only when it listens (RFC 8252 §7.3).
    package func matches(_ requested: String) -> Bool {
        if text.hasSameBytes(as: requested) { return true }
        guard kind == .loopback, let other = AppRedirectURI(registering: requested), other.kind == .loopback else {
            return false
        }
        return base.hasSameBytes(as: other.base) && rest.hasSameBytes(as: other.rest)
    }

    /// The source of `form-action` (CSP 3 §6.4.1) that lets a form of ours end at a URI that matches. Browsers hold all
    /// redirects that follow a form to the list, those of the app too, which may lead on from its URI to another origin
    /// (RFC 6749 §3.1.2.5): of a web address it is the scheme alone.
    package var formActionSource: String {
        switch kind {
        case .https: "https:"
        // It allows https as well.
        case .loopback: "http:"
        case .privateScheme: base
        }
    }

    /// Printable ASCII without what browsers rewrite, and without `#` and `*`.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !#"#*\"<>`{}|^'"#.utf8.contains(byte)
    }

    /// A scheme in lower case (RFC 3986 §3.1), so that it has one spelling.
    private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = bytes.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else { return false }
        return bytes.allSatisfy { isLowercaseOrDigit($0) || "+-.".utf8.contains($0) }
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }

    /// The host of an authority, whose port may follow.
    private static func host(of authority: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: authority, as: UTF8.self)
        let hostEnd: String.Index
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            hostEnd = text.index(after: bracket)
        } else {
            hostEnd = text.firstIndex(of: ":") ?? text.endIndex
        }
        let port = text[hostEnd...]
        guard port.isEmpty || isPort(port.dropFirst()) && port.first == ":" else { return nil }
        return String(text[..<hostEnd])
    }

    private static func isPort(_ digits: Substring) -> Bool {
        guard (1...5).contains(digits.utf8.count), digits.utf8.first != UInt8(ascii: "0"),
            digits.utf8.allSatisfy(\.isASCIIDigit), let port = Int(digits)
        else { return false }
        return port <= 65_535
    }

    /// Labels of lower-case letters, digits and inner hyphens, the last of them not all digits, as an address's is.
    private static func isDomainName(_ host: String) -> Bool {
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy { isLowercaseOrDigit($0) || $0 == UInt8(ascii: "-") }
        }
        return isName && labels.last?.allSatisfy(\.isASCIIDigit) == false
    }

    private static func isLowercaseOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte.isASCIIDigit
    }

    /// Whether the query has a parameter of the answer: the app would find two.
    private static func hasReservedParameter(_ rest: ArraySlice<UInt8>) -> Bool {
        guard let mark = rest.firstIndex(of: UInt8(ascii: "?")) else { return false }
        return rest[(mark + 1)...].split(separator: UInt8(ascii: "&")).contains { parameter in
            let name = String(decoding: parameter.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
            // An encoded name may be one of them.
            return name.contains("%") || ["code", "state", "iss", "error"].contains(name)
        }
    }
}
