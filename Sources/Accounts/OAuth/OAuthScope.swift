/// A scope: a `scope-token` of RFC 6749 §3.3, of at most 64 bytes.
package struct OAuthScope: ExactString {
    package static let profile = OAuthScope(unchecked: "profile")
    package static let email = OAuthScope(unchecked: "email")

    package let text: String

    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}

/// Scopes in the order in which they were named first, each once.
package struct OAuthScopes: Hashable, Sendable, CustomStringConvertible {
    package let all: [OAuthScope]

    package init(_ scopes: some Sequence<OAuthScope>) {
        var seen: Set<OAuthScope> = []
        all = scopes.filter { seen.insert($0).inserted }
    }

    /// Reads the parameter `scope`: tokens with single spaces between them (RFC 6749 §3.3).
    package init?(parameter text: String) {
        let tokens = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        let scopes = tokens.compactMap { OAuthScope(String(decoding: $0, as: UTF8.self)) }
        guard scopes.count == tokens.count else { return nil }
        self.init(scopes)
    }

    package var isEmpty: Bool { all.isEmpty }
    package var texts: [String] { all.map(\.text) }
    /// As the parameter `scope` has them.
    package var description: String { texts.joined(separator: " ") }

    package func contains(_ scope: OAuthScope) -> Bool { all.contains(scope) }

    package func isSubset(of others: OAuthScopes) -> Bool { Set(all).isSubset(of: others.all) }

    package func intersection(_ others: OAuthScopes) -> OAuthScopes { OAuthScopes(all.filter(others.contains)) }
}
