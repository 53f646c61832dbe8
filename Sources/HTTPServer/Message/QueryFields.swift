import Primitives

extension Request {
    /// Reads the query through `read`, which takes from it each parameter that the operation knows.
    ///
    /// - Throws: 400 with every invalid parameter, unknown and repeated ones included.
    package func query<Value>(_ read: (inout QueryFields) -> Value) throws(Problem) -> Value {
        guard var fields = QueryFields(queryText) else {
            throw Problem(.invalidRequest, detail: "The query is not well-formed.")
        }
        let value = read(&fields)
        let errors = fields.finish()
        guard errors.isEmpty else { throw Problem(.invalidRequest, errors: Array(errors.prefix(16))) }
        return value
    }
}

extension Request {
    /// The parameters of the query, for an operation whose caller adds others or is answered by itself for what is
    /// repeated.
    ///
    /// - Parameter plusIsSpace: as in a form, which an OAuth client's request is encoded as (RFC 6749 appendix B).
    /// - Throws: 400 for text that is no query.
    package func queryValues(plusIsSpace: Bool = false) throws(Problem) -> QueryValues {
        let text = plusIsSpace ? queryText.map { Substring($0.replacing("+", with: "%20")) } : queryText
        guard let pairs = QueryFields.pairs(in: text) else {
            throw Problem(.invalidRequest, detail: "The query is not well-formed.")
        }
        return QueryValues(pairs: pairs)
    }
}

extension Request {
    /// What somebody has typed or pasted into a search box: the value of a form-encoded parameter, without the white space
    /// around it. Empty where there is no such parameter.
    ///
    /// - Returns: `nil` for what is no text, came more than once, or is longer.
    package func searchText(_ name: String, maximumBytes: Int) -> String? {
        let values = (queryText ?? "").split(separator: "&").filter { $0.hasPrefix(name + "=") }
        guard values.count <= 1 else { return nil }
        var value = (values.first?.dropFirst(name.utf8.count + 1)).map { $0.replacing("+", with: "%20")[...] } ?? ""
        // A tab or a line break, which may not be in a value, is cut off before the value is decoded.
        while Self.isSpace(value.prefix(3)) { value = value.dropFirst(3) }
        while Self.isSpace(value.suffix(3)) { value = value.dropLast(3) }
        guard let text = QueryFields.pairs(in: "q=" + value)?.first?.value else { return nil }
        let space = text.unicodeScalars.prefix { $0.properties.isWhitespace }.count
        var scalars = text.unicodeScalars.dropFirst(space)
        while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
        let trimmed = String(String.UnicodeScalarView(scalars))
        return trimmed.utf8.count <= maximumBytes ? trimmed : nil
    }

    private static func isSpace(_ triplet: Substring) -> Bool {
        ["%20", "%09", "%0A", "%0D"].contains(triplet.uppercased())
    }
}

/// The parameters of a query with all their values; `+` is a plus sign.
package struct QueryValues: Sendable {
    fileprivate let pairs: [(name: String, value: String)]

    /// The values with exactly this name, in their order.
    package func all(_ name: String) -> [String] {
        pairs.filter { $0.name.utf8.elementsEqual(name.utf8) }.map(\.value)
    }
}

/// The parameters of a query, `name=value` joined by `&`, both percent-encoded UTF-8.
///
/// `+` is a plus sign, as in RFC 3986: in an email address it must not become a space.
package struct QueryFields {
    private var pairs: [(name: String, value: String)] = []
    private var known: [String] = []
    private var errors: [FieldError] = []

    /// - Returns: `nil` for text that is not percent-encoded UTF-8 or decodes to a control character.
    init?(_ text: Substring?) {
        guard let decoded = Self.pairs(in: text) else { return nil }
        for (name, value) in decoded {
            if pairs.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
                errors.append(FieldError(field: String(name.prefix(64)), reason: .duplicate))
            }
            pairs.append((name, value))
        }
    }

    /// - Returns: `nil` as `init` does.
    fileprivate static func pairs(in text: Substring?) -> [(name: String, value: String)]? {
        guard let text, !text.isEmpty else { return [] }
        var pairs: [(name: String, value: String)] = []
        for pair in text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(parts[0]), let value = parts.count == 2 ? decoded(parts[1]) : "", !name.isEmpty
            else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }

    private static func decoded(_ text: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                    let low = rest.popFirst().flatMap(Hexadecimal.value),
                    high << 4 | low >= 0x20, high << 4 | low != 0x7F
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "#"): return nil
            case 0x21..<0x7F: bytes.append(byte)
            default: return nil
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    fileprivate func finish() -> [FieldError] {
        let unknown = pairs.filter { pair in !known.contains { $0.utf8.elementsEqual(pair.name.utf8) } }
        return errors + unknown.map { FieldError(field: String($0.name.prefix(64)), reason: .unknown) }
    }

    private mutating func reject(_ name: String, _ reason: FieldError.Reason) {
        errors.append(FieldError(field: name, reason: reason))
    }

    package mutating func optionalString(_ name: String, maximumBytes: Int = 1024) -> String? {
        known.append(name)
        guard let text = pairs.first(where: { $0.name.utf8.elementsEqual(name.utf8) })?.value else { return nil }
        guard text.utf8.count <= maximumBytes else {
            reject(name, .tooLong)
            return nil
        }
        return text
    }

    /// The result of `parse` for a parameter that may be absent.
    package mutating func optionalValue<Value>(_ name: String, as parse: (String) -> Value?) -> Value? {
        guard let text = optionalString(name) else { return nil }
        guard let value = parse(text) else {
            reject(name, .invalid)
            return nil
        }
        return value
    }

    package mutating func optionalChoice<Choice: RawRepresentable<String>>(
        _ name: String, of choice: Choice.Type
    ) -> Choice? {
        guard let text = optionalString(name) else { return nil }
        guard let value = Choice(rawValue: text), value.rawValue.utf8.elementsEqual(text.utf8) else {
            reject(name, .notAllowed)
            return nil
        }
        return value
    }

    /// A decimal integer without a sign, within a range.
    package mutating func optionalInteger(_ name: String, in range: ClosedRange<Int>) -> Int? {
        guard let value = optionalValue(name, as: Self.integer) else { return nil }
        guard range.contains(value) else {
            reject(name, .outOfRange)
            return nil
        }
        return value
    }

    private static func integer(_ text: String) -> Int? {
        text.utf8.allSatisfy(\.isASCIIDigit) ? Int(text) : nil
    }
}
