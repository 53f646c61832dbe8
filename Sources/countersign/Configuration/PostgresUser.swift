import Foundation

/// The user in a libpq connection string (PostgreSQL manual, §34.1.1), in either of its forms.
struct PostgresUser: Equatable {
    let name: String

    init?(of connection: String) {
        let name: String?
        if let scheme = connection.prefixMatch(of: /postgres(?:ql)?:\/\//) {
            name = Self.inURI(connection[scheme.range.upperBound...])
        } else {
            name = Self.inKeywords(connection)
        }
        guard let name, !name.isEmpty else { return nil }
        self.name = name
    }

    /// `user:password@host/…?user=…`; the parameter, being read later, wins.
    private static func inURI(_ rest: Substring) -> String? {
        let query = rest.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        for pair in query.split(separator: "&") where pair.hasPrefix("user=") {
            return pair.dropFirst(5).removingPercentEncoding
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard let at = authority.lastIndex(of: "@") else { return nil }
        return authority[..<at].prefix { $0 != ":" }.removingPercentEncoding
    }

    /// `host=… user='it\'s me'`, with white space around the equals sign allowed.
    private static func inKeywords(_ text: String) -> String? {
        var found: String?
        for match in text.matches(of: /([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))/)
        where match.1 == "user" {
            found = (match.2 ?? match.3).map { String($0).replacing(/\\(.)/, with: \.output.1) }
        }
        return found
    }
}
