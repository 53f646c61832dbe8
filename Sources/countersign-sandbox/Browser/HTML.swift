import Primitives

/// HTML text. An interpolated string is escaped; interpolated HTML is not.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    let text: String

    init(stringLiteral text: String) { self.text = text }

    init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ value: String) { text += value.escapedForHTML }

        /// Nothing when nil.
        mutating func appendInterpolation(_ html: HTML?) { text += html?.text ?? "" }

        mutating func appendInterpolation(_ lines: [HTML]) { text += lines.map(\.text).joined(separator: "\n") }
    }
}
