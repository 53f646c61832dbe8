import JSON
import Primitives

/// The members of one JSON object of a control request. An `init` of the body's type reads each by its name, and what
/// it has read is what the object may have: an unknown name is refused, so that a misspelt option is not silently
/// ignored.
///
/// Reading goes on after a fault, with a value that is as good as none, since all names have to be known before the
/// first fault can be said.
final class ControlMembers {
    private let members: [(name: String, value: JSONValue)]
    /// The path of the object in the request, for messages: "" or "token.".
    private let prefix: String
    private var known: [String] = []
    private var fault: ControlRefusal?

    private init(_ value: JSONValue, prefix: String) {
        members = value.members ?? []
        self.prefix = prefix
        if value.members == nil {
            refuse(prefix.isEmpty ? "The body must be a JSON object." : "\(prefix.dropLast()) must be an object.")
        }
    }

    static func read<Body>(_ value: JSONValue, _ body: (ControlMembers) -> Body) throws(ControlRefusal) -> Body {
        let members = ControlMembers(value, prefix: "")
        let read = body(members)
        if let refusal = members.refusal { throw refusal }
        return read
    }

    private var refusal: ControlRefusal? {
        guard let unknown = names.first(where: { !isKnown($0) }) else { return fault }
        let known = known.isEmpty ? "none" : known.joined(separator: ", ")
        return .invalid("Unknown member \(prefix)\(unknown). Known here: \(known).")
    }

    private func isKnown(_ name: String) -> Bool { known.contains { $0.hasSameBytes(as: name) } }

    var names: [String] { members.map(\.name) }

    /// Refuses the request, unless it is already.
    func refuse(_ message: String) { fault = fault ?? .invalid(message) }

    /// Makes members known that the request can have and that are not read this time.
    func allow(_ names: [String]) { for name in names where !isKnown(name) { known.append(name) } }

    // MARK: Values of any type

    /// The value as it came, for a claim that is passed on unchanged.
    func raw(_ name: String) -> JSONValue? {
        allow([name])
        return members.first { $0.name.hasSameBytes(as: name) }?.value
    }

    private func value<Value>(
        _ name: String, _ expectation: @autoclosure () -> String, _ parse: (JSONValue) -> Value?
    ) -> Value? {
        guard let value = raw(name) else { return nil }
        let parsed = parse(value)
        if parsed == nil { refuse("\(prefix)\(name) must be \(expectation()).") }
        return parsed
    }

    private func required<Value>(_ name: String, _ value: Value?, else empty: Value) -> Value {
        if raw(name) == nil { refuse("\(prefix)\(name) is missing.") }
        return value ?? empty
    }

    func rawObject(_ name: String) -> [(name: String, value: JSONValue)] { value(name, "an object", \.members) ?? [] }

    func object<Body>(_ name: String, _ body: (ControlMembers) -> Body) -> Body? {
        guard let value = raw(name) else { return nil }
        let members = ControlMembers(value, prefix: "\(prefix)\(name).")
        let read = body(members)
        fault = fault ?? members.refusal
        return read
    }

    // MARK: Flags, numbers, choices

    func optionalFlag(_ name: String) -> Bool? { value(name, "true or false", \.bool) }

    func flag(_ name: String, else defaultValue: Bool = false) -> Bool { optionalFlag(name) ?? defaultValue }

    func requiredFlag(_ name: String) -> Bool { required(name, optionalFlag(name), else: false) }

    func optionalInteger(_ name: String, in range: ClosedRange<Int64>) -> Int64? {
        value(name, "a whole number from \(range.lowerBound) to \(range.upperBound)") { value in
            value.integer.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    func integer(_ name: String, in range: ClosedRange<Int64>) -> Int64 {
        required(name, optionalInteger(name, in: range), else: range.lowerBound)
    }

    func optionalChoice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String, of type: Choice.Type = Choice.self
    ) -> Choice? {
        value(name, "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", ")) { value in
            value.string.flatMap(Choice.init)
        }
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String, else empty: Choice) -> Choice {
        required(name, optionalChoice(name), else: empty)
    }

    func choices<Choice: RawRepresentable<String> & CaseIterable & Hashable>(_ name: String) -> Set<Choice>? {
        value(name, "an array out of " + Choice.allCases.map(\.rawValue).joined(separator: ", ")) { value in
            let choices = value.elements?.map { $0.string.flatMap(Choice.init) }
            return choices.flatMap { $0.contains(nil) ? nil : Set($0.compactMap(\.self)) }
        }
    }

    // MARK: Texts

    func optionalText(_ name: String) -> String? {
        value(name, "a string that is not empty") { value in value.string.flatMap { $0.isEmpty ? nil : $0 } }
    }

    func text(_ name: String) -> String { required(name, optionalText(name), else: "") }

    /// A text that can also be removed: nil when the request does not name it, `.some(nil)` for null.
    func changedText(_ name: String) -> String?? {
        value(name, "a string or null") { $0.isNull ? .some(nil) : $0.string.map { .some($0) } }
    }

    /// Applies the request's change, if any, to an optional text.
    func change(_ text: inout String?, _ name: String) { if let new = changedText(name) { text = new } }

    func texts(_ name: String) -> [String]? {
        value(name, "an array of strings") { value in
            let texts = value.elements?.map(\.string)
            return texts.flatMap { $0.contains(nil) ? nil : $0.compactMap(\.self) }
        }
    }

    /// An object of strings, such as headers.
    func textObject(_ name: String) -> [(name: String, value: String)] {
        rawObject(name).map { member, value in
            if value.string == nil { refuse("\(prefix)\(name).\(member) must be a string.") }
            return (member, value.string ?? "")
        }
    }

    /// A text that must be more than one, refused if `parse` gives nil.
    private func parsed<Value>(_ name: String, _ expectation: String, _ parse: (String) -> Value?) -> Value? {
        guard let text = optionalText(name) else { return nil }
        let parsed = parse(text)
        if parsed == nil { refuse("\(prefix)\(name) must be \(expectation).") }
        return parsed
    }

    /// Seconds since 1970 of an RFC 3339 time.
    func optionalTime(_ name: String) -> Int64? {
        parsed(name, "an RFC 3339 time in UTC, such as 2026-01-01T00:00:00Z", Timestamp.seconds)
    }

    func time(_ name: String) -> Int64 { required(name, optionalTime(name), else: 0) }

    func clientID() -> String { identifier("clientId") }

    func optionalClientID() -> String? { optionalIdentifier("clientId") }

    /// A client or team id: visible ASCII, where strings that compare equal have equal bytes.
    func identifier(_ name: String) -> String { required(name, optionalIdentifier(name), else: "") }

    func optionalIdentifier(_ name: String) -> String? {
        parsed(name, "1 to 255 visible ASCII characters") { text in
            text.utf8.count <= 255 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
        }
    }

    /// A person's name, which is safe in a path.
    func personName() -> String {
        let name = parsed("name", "1 to 64 letters, digits, dots, underscores or hyphens") { name in
            let fits = name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-".utf8.contains($0) }
            return fits && name.utf8.count <= 64 ? name : nil
        }
        return required("name", name, else: "")
    }
}
