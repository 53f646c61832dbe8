import Primitives

/// The pairs of a query or a form: `name=value` joined by `&`, both percent-encoded UTF-8.
enum URLEncodedPairs {
    enum Encoding {
        /// RFC 3986, without control characters: `+` is a plus sign, as in an email address.
        case query
        /// What an OAuth client's request is encoded as (RFC 6749 appendix B): a query in which `+` is a space.
        case spacedQuery
        /// As browsers encode a form (WHATWG URL §5.1): `+` is a space.
        case form
    }

    /// More fields than any form of ours or of a provider has.
    private static let maximumFormFields = 32

    /// Empty pairs, as behind a last `&`, are passed over (WHATWG URL §5.1).
    ///
    /// - Returns: `nil` for text that is not so encoded, a pair without a name, and a form with too many fields.
    static func pairs(in text: some Collection<UInt8>, _ encoding: Encoding) -> [(name: String, value: String)]? {
        guard let all = namedPairs(in: text, encoding) else { return nil }
        var pairs: [(name: String, value: String)] = []
        for (name, value) in all {
            guard let value else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }

    /// - Returns: `nil` as above, but for text of which a value alone is not so encoded: that value is `nil`.
    static func namedPairs(in text: some Collection<UInt8>, _ encoding: Encoding) -> [(name: String, value: String?)]? {
        var pairs: [(name: String, value: String?)] = []
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard encoding != .form || pairs.count < maximumFormFields, let name = decoded(parts[0], encoding),
                !name.isEmpty
            else { return nil }
            pairs.append((name, parts.count == 2 ? decoded(parts[1], encoding) : ""))
        }
        return pairs
    }

    private static func decoded(_ text: some Collection<UInt8>, _ encoding: Encoding) -> String? {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+") where encoding != .query: bytes.append(0x20)
            case UInt8(ascii: "#") where encoding != .form: return nil
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                    let low = rest.popFirst().flatMap(Hexadecimal.value),
                    encoding == .form || !(high << 4 | low).isASCIIControl
                else { return nil }
                bytes.append(high << 4 | low)
            case 0x21..<0x7F: bytes.append(byte)
            default: return nil
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// The parameters of a query with all their values.
package struct QueryValues: Sendable {
    /// A value that can't be read is `nil`.
    private let pairs: [(name: String, value: String?)]

    /// - Returns: `nil` for text that is no query.
    package init?(_ text: Substring, plusIsSpace: Bool = false) {
        let encoding: URLEncodedPairs.Encoding = plusIsSpace ? .spacedQuery : .query
        guard let pairs = text.isEmpty ? [] : URLEncodedPairs.namedPairs(in: text.utf8, encoding) else { return nil }
        self.pairs = pairs
    }

    /// The values with exactly this name, in their order; none where one of them can't be read.
    package func all(_ name: String) -> [String] {
        let values = pairs.filter { $0.name.hasSameBytes(as: name) }.map(\.value)
        return values.contains(nil) ? [] : values.compactMap(\.self)
    }

    /// Whether a name comes more than once, known or not (RFC 6749 §3.1), or a value can't be read. An empty value is no
    /// value.
    package var isMalformed: Bool {
        let names = pairs.filter { $0.value?.isEmpty != true }.map { Array($0.name.utf8) }
        return Set(names).count < names.count || !isReadable
    }

    fileprivate var isReadable: Bool { pairs.allSatisfy { $0.value != nil } }
}

extension Request {
    /// The parameters of the query, for an operation whose caller adds others or is answered by itself for what is
    /// repeated.
    ///
    /// - Parameter judgesValues: whether the caller is also answered by itself for a value that can't be read.
    /// - Throws: 400 for text that is no query.
    package func queryValues(plusIsSpace: Bool = false, judgesValues: Bool = false) throws(Problem) -> QueryValues {
        guard let values = QueryValues(queryText ?? "", plusIsSpace: plusIsSpace) else { throw Self.malformedQuery }
        guard judgesValues || values.isReadable else { throw Self.malformedQuery }
        return values
    }

    func queryPairs(_ encoding: URLEncodedPairs.Encoding) throws(Problem) -> [(name: String, value: String)] {
        guard let text = queryText, !text.isEmpty else { return [] }
        guard let pairs = URLEncodedPairs.pairs(in: text.utf8, encoding) else { throw Self.malformedQuery }
        return pairs
    }

    private static var malformedQuery: Problem { Problem(.invalidRequest, detail: "The query is not well-formed.") }
}
