/// A statement and the values bound to it. Interpolation binds:
///
///     let sql: SQL = "SELECT id FROM accounts WHERE email = \(email) AND state = ANY(\(states))"
///
/// is sent as `… email = $1 AND state = ANY($2)` with the values beside it, so that no value can become syntax. Another
/// `SQL` is spliced in with its own values. Raw text is spliced in by `unsafeSQL:`, for text that no user wrote.
package struct SQL: Sendable {
    private(set) var text: String
    private(set) var parameters: PostgresEncoder
    /// The offset of each placeholder in the UTF-8 of `text`, for the renumbering of a spliced statement.
    private var placeholderOffsets: [Int]

    package init(unsafeSQL text: String) { self.init(stringInterpolation: Interpolation(unsafeSQL: text)) }

    private init(_ text: String, _ parameters: PostgresEncoder, _ placeholderOffsets: [Int]) {
        self.text = text
        self.parameters = parameters
        self.placeholderOffsets = placeholderOffsets
    }
}

extension SQL: ExpressibleByStringInterpolation {
    package init(stringLiteral value: StaticString) { self.init(value.description, PostgresEncoder(), []) }

    package init(stringInterpolation: Interpolation) {
        self.init(stringInterpolation.text, stringInterpolation.parameters, stringInterpolation.placeholderOffsets)
    }

    package struct Interpolation: StringInterpolationProtocol {
        fileprivate var text: String
        fileprivate var parameters: PostgresEncoder
        fileprivate var placeholderOffsets: [Int]

        fileprivate init(unsafeSQL: String) {
            self.init(literalCapacity: 0, interpolationCount: 0)
            appendInterpolation(unsafeSQL: unsafeSQL)
        }

        package init(literalCapacity: Int, interpolationCount: Int) {
            text = ""
            text.reserveCapacity(literalCapacity + 3 * interpolationCount)
            parameters = PostgresEncoder(parameters: interpolationCount)
            placeholderOffsets = []
            placeholderOffsets.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: StaticString) { text += literal.description }

        package mutating func appendInterpolation(_ value: some PostgresEncodable) {
            parameters.bind(value)
            appendPlaceholder()
        }

        /// Without this overload the compiler warns of an optional that was not unwrapped.
        package mutating func appendInterpolation(_ value: (some PostgresEncodable)?) {
            parameters.bind(value)
            appendPlaceholder()
        }

        package mutating func appendInterpolation(_ statement: SQL) {
            let bytes = statement.text.utf8
            var position = bytes.startIndex
            for (index, offset) in statement.placeholderOffsets.enumerated() {
                let start = bytes.index(bytes.startIndex, offsetBy: offset)
                text += statement.text[position..<start]
                appendPlaceholder()
                position = bytes.index(start, offsetBy: "$\(index + 1)".utf8.count)
            }
            text += statement.text[position...]
            parameters.append(contentsOf: statement.parameters)
        }

        /// `PQsendQueryParams` takes the text up to its first NUL.
        package mutating func appendInterpolation(unsafeSQL: String) {
            if unsafeSQL.utf8.contains(0) { parameters.refuse("the statement holds U+0000") }
            text += unsafeSQL
        }

        private mutating func appendPlaceholder() {
            placeholderOffsets.append(text.utf8.count)
            text += "$"
            text += String(placeholderOffsets.count)
        }
    }
}

extension SQL {
    /// Whether a commit may have to be written for it, which waits for a synchronous standby: whether one of these keywords
    /// stands in it, in the capitals of this repository. A row lock writes one too.
    var mayCommit: Bool {
        text.utf8.split { !(65...90 ~= $0 || 97...122 ~= $0 || $0 == 95) }
            .contains { SQL.writing.contains(String(Substring($0))) }
    }

    private static let writing: Set = [
        "INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "SHARE", "CREATE", "ALTER", "DROP",
    ]

    /// The reason why the statement cannot be sent, nil when it can. `PQsendQueryParams` counts parameters in 16 bits.
    var fault: String? {
        if let fault = parameters.fault { return fault }
        if parameters.ranges.count > 65_535 { return "more than 65,535 values are bound" }
        return nil
    }
}

/// The key of a prepared statement: its text and its bound types, by which PostgreSQL resolves operators.
struct PreparedKey: Hashable {
    let text: String
    let types: [UInt32]

    /// Without the text, whose octets would cost more than the look-up: few statements are of one length and one list of
    /// types.
    func hash(into hasher: inout Hasher) {
        hasher.combine(text.utf8.count)
        hasher.combine(types)
    }
}
