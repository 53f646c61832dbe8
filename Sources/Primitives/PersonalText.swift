/// A text about a person, on its way to the log: an email, a full address. Who prints it gets a placeholder; the log itself
/// asks for `revealed` when `log.personalData` allows it, and leaves the whole value out when not.
package struct PersonalText: CustomStringConvertible, Sendable {
    /// Bytes that are kept, of whatever somebody typed.
    static let limit = 254

    private let value: any CustomStringConvertible & Sendable

    /// - Parameter value: made into a text when it is revealed, and not before.
    package init(_ value: any CustomStringConvertible & Sendable) { self.value = value }

    package var description: String { "(personal)" }

    package var revealed: String { String(decoding: value.description.utf8.prefix(Self.limit), as: UTF8.self) }
}
