import Foundation

/// Any JSON value, for what has no fixed shape: claims, documents of others, bodies of requests.
enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// nil for anything but a whole number that fits.
    var integer: Int? { if case .number(let value) = self { Int(exactly: value) } else { nil } }
    var array: [JSONValue]? { if case .array(let items) = self { items } else { nil } }
    var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }

    /// The object that a text is; nil when it is none.
    static func object(in data: Data) -> [String: JSONValue]? { JSONText.decode(JSONValue.self, from: data)?.object }
}

extension JSONValue: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value):
            // Whole numbers without a fraction, as other readers want them.
            if let integer = Int(exactly: value) { try container.encode(integer) } else { try container.encode(value) }
        case .string(let value): try container.encode(value)
        case .array(let items): try container.encode(items)
        case .object(let members): try container.encode(members)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByDictionaryLiteral {
    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(Dictionary(elements) { $1 }) }
}

/// JSON objects as bytes.
enum JSONText {
    /// The value of a UTF-8 text; nil when it is another text, no JSON, or of another shape.
    static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) -> Value? {
        // JSONDecoder would also take UTF-16 and a byte order mark.
        guard let text = String(validating: Array(data)), text.unicodeScalars.first != "\u{FEFF}" else { return nil }
        return try? JSONDecoder().decode(type, from: data)
    }

    /// Members in the order of their names, so that equal values have equal texts; `/` is left bare.
    static func encode(_ value: some Encodable) throws(SessionError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return try encoder.encode(value) } catch { throw .storage("a value has no JSON form") }
    }
}

/// The claims of a JWT, read and **not verified**: labels, never a proof of anything.
func unverifiedClaims(of token: String) -> [String: JSONValue]? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])) else { return nil }
    return JSONValue.object(in: payload)
}
