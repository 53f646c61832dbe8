import JSON
import Primitives

/// What a claim or a member of an answer can be.
protocol JSONEncodable: Sendable {
    func write(to writer: inout JSONWriter)
}

/// A JSON object, its members in the order in which they are written: the claims of a token, or an answer. A literal
/// leaves out the members that are nil.
struct JSONObject: JSONEncodable, ExpressibleByDictionaryLiteral {
    private(set) var members: [(name: String, value: any JSONEncodable)] = []

    init(dictionaryLiteral members: (String, (any JSONEncodable)?)...) {
        for (name, value) in members { set(name, value) }
    }

    /// Parameters or header fields, in their order.
    static func fields(_ fields: [(name: String, value: String)]) -> [JSONObject] {
        fields.map { ["name": $0.name, "value": $0.value] }
    }

    /// Sets a member; nil leaves the object as it is.
    mutating func set(_ name: String, _ value: (any JSONEncodable)?) {
        guard let value else { return }
        if let index = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
            members[index].value = value
        } else {
            members.append((name, value))
        }
    }

    mutating func set(_ others: JSONObject?) { for (name, value) in others?.members ?? [] { set(name, value) } }

    mutating func remove(_ name: String) { members.removeAll { $0.name.hasSameBytes(as: name) } }

    /// Turns booleans into the strings "true" and "false", as in Apple's tokens before 2022 and still in its events.
    mutating func convertBooleansToStrings() {
        for index in members.indices {
            if let flag = members[index].value as? Bool { members[index].value = String(flag) }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            for (name, value) in members {
                writer.name(name)
                value.write(to: &writer)
            }
        }
    }

    var bytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension String: JSONEncodable {
    func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Bool: JSONEncodable {
    func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension Int: JSONEncodable {
    func write(to writer: inout JSONWriter) { writer.integer(Int64(self)) }
}

extension Int64: JSONEncodable {
    func write(to writer: inout JSONWriter) { writer.integer(self) }
}

/// A value that was read is written as it was, of the right type or not.
extension JSONValue: JSONEncodable {
    func write(to writer: inout JSONWriter) { writer.value(self) }
}

extension Array: JSONEncodable where Element: JSONEncodable {
    func write(to writer: inout JSONWriter) {
        writer.array { array in
            for element in self { element.write(to: &array) }
        }
    }
}

/// A value as the other is, and null for nil.
struct JSONNullable: JSONEncodable {
    let value: (any JSONEncodable)?

    func write(to writer: inout JSONWriter) { if let value { value.write(to: &writer) } else { writer.null() } }
}
