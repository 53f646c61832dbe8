import JSON

/// The members of one JSON object of a control request, read strictly: an unknown name is refused, so that a misspelt
/// option is not silently ignored.
struct ControlMembers {
    /// A change to a value that can also be removed.
    enum Change<Value> {
        case unchanged
        case removed
        case set(Value)
    }

    private let members: [(name: String, value: JSONValue)]
    /// The path of the object in the request, for messages: "" or "token.".
    private let prefix: String

    init(_ value: JSONValue, prefix: String = "", allowed: [String]) throws(ControlRefusal) {
        guard let members = value.members else {
            throw .invalid(
                prefix.isEmpty ? "The body must be a JSON object." : "\(prefix.dropLast()) must be an object.")
        }
        for (name, _) in members where !allowed.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            let known = allowed.isEmpty ? "none" : allowed.joined(separator: ", ")
            throw .invalid("Unknown member \(prefix)\(name). Known here: \(known).")
        }
        self.members = members
        self.prefix = prefix
    }

    var names: [String] { members.map(\.name) }

    private func value(_ name: String) -> JSONValue? {
        members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    private func refusal(_ name: String, _ expectation: String) -> ControlRefusal {
        .invalid("\(prefix)\(name) must be \(expectation).")
    }

    func text(_ name: String) throws(ControlRefusal) -> String {
        guard let text = try optionalText(name) else { throw .invalid("\(prefix)\(name) is missing.") }
        return text
    }

    func optionalText(_ name: String) throws(ControlRefusal) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string, !text.isEmpty else { throw refusal(name, "a string that is not empty") }
        return text
    }

    func changedText(_ name: String) throws(ControlRefusal) -> Change<String> {
        guard let value = value(name) else { return .unchanged }
        if value.isNull { return .removed }
        guard let text = value.string else { throw refusal(name, "a string or null") }
        return .set(text)
    }

    func optionalFlag(_ name: String) throws(ControlRefusal) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let flag = value.bool else { throw refusal(name, "true or false") }
        return flag
    }

    func flag(_ name: String, else defaultValue: Bool = false) throws(ControlRefusal) -> Bool {
        try optionalFlag(name) ?? defaultValue
    }

    func integer(_ name: String, in range: ClosedRange<Int64>) throws(ControlRefusal) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let number = value.integer, range.contains(number) else {
            throw refusal(name, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Seconds since 1970 of an RFC 3339 time.
    func time(_ name: String) throws(ControlRefusal) -> Int64? {
        guard let text = try optionalText(name) else { return nil }
        guard let time = Timestamp.seconds(text) else {
            throw refusal(name, "an RFC 3339 time in UTC, such as 2026-01-01T00:00:00Z")
        }
        return time
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String, of type: Choice.Type
    ) throws(ControlRefusal) -> Choice? {
        guard let value = value(name) else { return nil }
        guard let choice = value.string.flatMap(Choice.init(rawValue:)) else {
            throw refusal(name, "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }

    func choices<Choice: RawRepresentable<String> & CaseIterable & Hashable>(
        _ name: String, of type: Choice.Type
    ) throws(ControlRefusal) -> Set<Choice>? {
        guard let value = value(name) else { return nil }
        let choices = value.elements?.map { $0.string.flatMap(Choice.init(rawValue:)) }
        guard let choices, !choices.contains(nil) else {
            throw refusal(name, "an array out of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return Set(choices.compactMap { $0 })
    }

    func texts(_ name: String) throws(ControlRefusal) -> [String] {
        guard let value = value(name) else { return [] }
        let texts = value.elements?.map(\.string)
        guard let texts, !texts.contains(nil) else { throw refusal(name, "an array of strings") }
        return texts.compactMap { $0 }
    }

    /// An object of strings, such as headers.
    func textObject(_ name: String) throws(ControlRefusal) -> [(name: String, value: String)] {
        var texts: [(name: String, value: String)] = []
        for (member, value) in try rawObject(name) {
            guard let text = value.string else { throw refusal("\(name).\(member)", "a string") }
            texts.append((member, text))
        }
        return texts
    }

    /// An object with members of any type.
    func rawObject(_ name: String) throws(ControlRefusal) -> [(name: String, value: JSONValue)] {
        guard let value = value(name) else { return [] }
        guard let members = value.members else { throw refusal(name, "an object") }
        return members
    }

    func object(_ name: String, allowed: [String]) throws(ControlRefusal) -> ControlMembers? {
        guard let value = value(name) else { return nil }
        return try ControlMembers(value, prefix: "\(prefix)\(name).", allowed: allowed)
    }

    func clientID() throws(ControlRefusal) -> String {
        try identifier("clientId")
    }

    /// A client or team id: visible ASCII, where strings that compare equal have equal bytes.
    func identifier(_ name: String) throws(ControlRefusal) -> String {
        let text = try text(name)
        guard text.utf8.count <= 255, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw refusal(name, "1 to 255 visible ASCII characters")
        }
        return text
    }

    /// A person's name, which is safe in a path.
    func personName() throws(ControlRefusal) -> String {
        let name = try text("name")
        let punctuation = Set("._-".utf8)
        let fits = name.utf8.allSatisfy { octet in
            let character = Character(UnicodeScalar(octet))
            return octet < 0x80 && (character.isLetter || character.isNumber) || punctuation.contains(octet)
        }
        guard fits, name.utf8.count <= 64 else {
            throw refusal("name", "1 to 64 letters, digits, dots, underscores or hyphens")
        }
        return name
    }

    /// Applies the request's change, if any, to an optional text.
    func change(_ text: inout String?, _ name: String) throws(ControlRefusal) {
        switch try changedText(name) {
        case .unchanged: break
        case .removed: text = nil
        case .set(let new): text = new
        }
    }

    /// The value as it came, for a claim that is passed on unchanged.
    func raw(_ name: String) -> JSONValue? { value(name) }
}
