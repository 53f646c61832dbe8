/// A text about a person, for the log: an email, a full address. Printing it gives a placeholder; the log handler asks
/// for `revealed` when `log.personalData` allows it, and omits the value otherwise.
package struct PersonalText: CustomStringConvertible, Sendable {
    /// The most bytes that are revealed, as a user may have typed the text.
    static let limit = 254

    private let value: any CustomStringConvertible & Sendable

    /// - Parameter value: made into a text when it is revealed, and not before.
    package init(_ value: any CustomStringConvertible & Sendable) { self.value = value }

    package var description: String { "(personal)" }

    package var revealed: String { String(decoding: value.description.utf8.prefix(Self.limit), as: UTF8.self) }
}
