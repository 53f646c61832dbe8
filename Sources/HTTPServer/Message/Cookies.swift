extension Request {
    /// The value of the cookie with exactly this name (RFC 6265 §4.2.1).
    ///
    /// - Returns: `nil` also when the name is there twice: one of the two was set by somebody else, and which one cannot
    ///   be seen.
    package func cookie(_ name: String) -> String? {
        Cookies.value(of: name, in: headers("Cookie"))
    }
}

enum Cookies {
    static func value(of name: String, in fields: [String]) -> String? {
        var found: String?
        for field in fields {
            for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = trimmed(pair)
                guard let equals = pair.firstIndex(of: UInt8(ascii: "=")),
                    trimmed(pair[..<equals]).elementsEqual(name.utf8)
                else { continue }
                guard found == nil else { return nil }
                found = String(decoding: trimmed(pair[pair.index(after: equals)...]), as: UTF8.self)
            }
        }
        return found
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        var text = text
        while let first = text.first, isSpace(first) { text = text.dropFirst() }
        while let last = text.last, isSpace(last) { text = text.dropLast() }
        return text
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

/// A cookie of a response: for the whole site, out of reach of scripts, and sent along by other sites only when they
/// lead a person here (`SameSite=Lax`). It has no `Domain`, so that it stays with this host (RFC 6265 §4.1.2.3).
package struct ResponseCookie: Equatable, Sendable {
    package let name: String
    /// Bytes of base64url. The response does not check them.
    package let value: String
    /// Whether it is sent over https alone.
    package let isSecure: Bool
    /// Seconds; `nil` for the lifetime of the browser's session, 0 to delete it.
    package let maximumAge: Int?

    package init(name: String, value: String, isSecure: Bool, maximumAge: Int? = nil) {
        self.name = name
        self.value = value
        self.isSecure = isSecure
        self.maximumAge = maximumAge
    }

    var field: String {
        var field = "\(name)=\(value); Path=/; HttpOnly; SameSite=Lax"
        if isSecure { field += "; Secure" }
        if let maximumAge { field += "; Max-Age=\(maximumAge)" }
        return field
    }
}

extension Response {
    package mutating func setCookie(_ cookie: ResponseCookie) {
        headers.append(("Set-Cookie", cookie.field))
    }
}
