/// A statement and the values bound to it. Interpolation binds:
///
///     let sql: SQL = "SELECT id FROM accounts WHERE email = \(email) AND state = ANY(\(states))"
///
/// is sent as `… email = $1 AND state = ANY($2)` with the values beside it, so that no value can become syntax. Another
/// `SQL` is spliced in with its own values. The raw door is called `unsafeSQL:` and is for text that no user wrote.
package struct SQL: Sendable {
    private(set) var text: String
    private(set) var parameters: PostgresEncoder
    /// Where in the UTF-8 of `text` each placeholder begins, for the renumbering of a spliced statement.
    private var marks: [Int]

    package init(unsafeSQL text: String) {
        self.text = text
        parameters = PostgresEncoder()
        marks = []
    }

    private init(_ text: String, _ parameters: PostgresEncoder, _ marks: [Int]) {
        self.text = text
        self.parameters = parameters
        self.marks = marks
    }
}

extension SQL: ExpressibleByStringInterpolation {
    package init(stringLiteral value: StaticString) {
        self.init(unsafeSQL: value.description)
    }

    package init(stringInterpolation: Interpolation) {
        self.init(stringInterpolation.text, stringInterpolation.parameters, stringInterpolation.marks)
    }

    package struct Interpolation: StringInterpolationProtocol {
        fileprivate var text: String
        fileprivate var parameters: PostgresEncoder
        fileprivate var marks: [Int]

        package init(literalCapacity: Int, interpolationCount: Int) {
            text = ""
            text.reserveCapacity(literalCapacity + 3 * interpolationCount)
            parameters = PostgresEncoder(parameters: interpolationCount)
            marks = []
            marks.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: StaticString) {
            text += literal.description
        }

        package mutating func appendInterpolation(_ value: some PostgresEncodable) {
            parameters.bind(value)
            appendPlaceholder()
        }

        /// By itself the compiler takes an optional for one that was forgotten to be unwrapped.
        package mutating func appendInterpolation(_ value: (some PostgresEncodable)?) {
            parameters.bind(value)
            appendPlaceholder()
        }

        package mutating func appendInterpolation(_ statement: SQL) {
            let bytes = statement.text.utf8
            var position = bytes.startIndex
            for (index, mark) in statement.marks.enumerated() {
                let start = bytes.index(bytes.startIndex, offsetBy: mark)
                text += statement.text[position..<start]
                appendPlaceholder()
                position = bytes.index(start, offsetBy: "$\(index + 1)".utf8.count)
            }
            text += statement.text[position...]
            parameters.append(contentsOf: statement.parameters)
        }

        package mutating func appendInterpolation(unsafeSQL: String) {
            text += unsafeSQL
        }

        private mutating func appendPlaceholder() {
            marks.append(text.utf8.count)
            text += "$"
            text += String(marks.count)
        }
    }
}

extension SQL {
    /// Why the statement cannot be sent, nil when it can. `PQsendQueryParams` counts parameters in 16 bits and takes the
    /// text up to its first NUL.
    var fault: String? {
        if let fault = parameters.fault { return fault }
        if parameters.places.count > 65_535 { return "more than 65,535 values are bound" }
        if text.utf8.contains(0) { return "the statement holds U+0000" }
        return nil
    }
}

/// Text and bound types together name a prepared statement: PostgreSQL resolves operators by the types.
struct PreparedKey: Hashable {
    let text: String
    let types: [UInt32]
}
