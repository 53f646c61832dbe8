import JSON

/// The claims of a token that is being minted, in the order in which they will be written.
struct ClaimSet {
    enum Value {
        case string(String)
        case integer(Int64)
        case bool(Bool)
        /// The value of the control request, of the right type or not.
        case json(JSONValue)
    }

    private(set) var members: [(name: String, value: Value)] = []

    /// Sets a claim; nil leaves the set as it is.
    mutating func set(_ name: String, _ value: Value?) {
        guard let value else { return }
        if let index = members.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            members[index].value = value
        } else {
            members.append((name, value))
        }
    }

    mutating func set(_ name: String, _ text: String?) {
        set(name, text.map { .string($0) })
    }

    mutating func remove(_ name: String) {
        members.removeAll { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// Turns booleans into the strings "true" and "false", as in Apple's tokens before 2022 and still in its events.
    mutating func convertBooleansToStrings() {
        for index in members.indices {
            if case .bool(let flag) = members[index].value { members[index].value = .string(flag ? "true" : "false") }
        }
    }

    var json: [UInt8] {
        JSONWriter.object { writer in
            for (name, value) in members {
                writer.name(name)
                switch value {
                case .string(let text): writer.string(text)
                case .integer(let number): writer.integer(number)
                case .bool(let flag): writer.bool(flag)
                case .json(let value): writer.value(value)
                }
            }
        }
    }
}
