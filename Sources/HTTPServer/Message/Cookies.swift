extension Request {
    /// The value of the cookie with exactly this name (RFC 6265 §4.2.1).
    ///
    /// - Returns: `nil` also when the name is there twice: one of the two was injected, and which one can't be known.
    package func cookie(_ name: String) -> String? { Cookies.value(of: name, in: headers("Cookie")) }
}

enum Cookies {
    static func value(of name: String, in fields: [String]) -> String? {
        var found: String?
        for field in fields {
            for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = pair.trimmed
                guard let equals = pair.firstIndex(of: UInt8(ascii: "=")),
                    pair[..<equals].trimmed.elementsEqual(name.utf8)
                else { continue }
                guard found == nil else { return nil }
                found = String(decoding: pair[pair.index(after: equals)...].trimmed, as: UTF8.self)
            }
        }
        return found
    }
}

/// A cookie of a response, out of reach of scripts. It has no `Domain`, so that it stays with this host (RFC 6265
/// §4.1.2.3).
package struct ResponseCookie: Equatable, Sendable {
    /// What a browser sends it along with (RFC 6265bis §4.1.2.7).
    package enum SameSite: String, Sendable {
        /// Also with requests by which another site leads a person here.
        case lax = "Lax"
        /// With requests of our own pages alone.
        case strict = "Strict"
    }

    package let name: String
    /// Bytes of base64url. The response does not check them.
    package let value: String
    /// The directory below which it is sent.
    package let path: String
    package let sameSite: SameSite
    /// Whether it is sent over https alone.
    package let isSecure: Bool
    /// Seconds; `nil` for the lifetime of the browser's session, 0 to delete it.
    package let maximumAge: Int?

    package init(
        name: String, value: String, path: String = "/", sameSite: SameSite = .lax, isSecure: Bool,
        maximumAge: Int? = nil
    ) {
        self.name = name
        self.value = value
        self.path = path
        self.sameSite = sameSite
        self.isSecure = isSecure
        self.maximumAge = maximumAge
    }

    var field: String {
        var field = "\(name)=\(value); Path=\(path); HttpOnly; SameSite=\(sameSite.rawValue)"
        if isSecure { field += "; Secure" }
        if let maximumAge { field += "; Max-Age=\(maximumAge)" }
        return field
    }
}

extension Response {
    /// This response, which sets a cookie besides.
    package func setting(_ cookie: ResponseCookie) -> Response {
        var response = self
        response.headers.append(("Set-Cookie", cookie.field))
        return response
    }
}
