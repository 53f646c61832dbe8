package import FoundationEssentials

/// A value that can be bound to a statement.
///
/// A type of another target whose raw value is bindable conforms without writing anything; others forward to a value
/// they hold.
package protocol PostgresEncodable: Sendable {
    static var postgresType: PostgresType { get }
    var isNull: Bool { get }
    func encode(into encoder: inout PostgresEncoder)
}

extension PostgresEncodable {
    package var isNull: Bool { false }
}

extension PostgresEncodable where Self: RawRepresentable, RawValue: PostgresEncodable {
    package static var postgresType: PostgresType { RawValue.postgresType }
    package func encode(into encoder: inout PostgresEncoder) { rawValue.encode(into: &encoder) }
}

extension String: PostgresEncodable {
    package static var postgresType: PostgresType { .text }
    package func encode(into encoder: inout PostgresEncoder) { encoder.append(text: self) }
}

extension Int64: PostgresEncodable {
    package static var postgresType: PostgresType { .int8 }
    package func encode(into encoder: inout PostgresEncoder) { encoder.append(self) }
}

extension Int: PostgresEncodable {
    package static var postgresType: PostgresType { .int8 }
    package func encode(into encoder: inout PostgresEncoder) { encoder.append(Int64(self)) }
}

extension Int32: PostgresEncodable {
    package static var postgresType: PostgresType { .int4 }
    package func encode(into encoder: inout PostgresEncoder) { encoder.append(self) }
}

extension Bool: PostgresEncodable {
    package static var postgresType: PostgresType { .bool }
    package func encode(into encoder: inout PostgresEncoder) { encoder.append(UInt8(self ? 1 : 0)) }
}

extension Double: PostgresEncodable {
    package static var postgresType: PostgresType { .float8 }
    package func encode(into encoder: inout PostgresEncoder) { encoder.append(bitPattern) }
}

extension UUID: PostgresEncodable {
    package static var postgresType: PostgresType { .uuid }
    package func encode(into encoder: inout PostgresEncoder) {
        let octets = uuid
        encoder.append(bytes: [
            octets.0, octets.1, octets.2, octets.3, octets.4, octets.5, octets.6, octets.7,
            octets.8, octets.9, octets.10, octets.11, octets.12, octets.13, octets.14, octets.15,
        ])
    }
}

extension PostgresTimestamp: PostgresEncodable {
    package static var postgresType: PostgresType { .timestamptz }
    package func encode(into encoder: inout PostgresEncoder) { encoder.append(wireValue) }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package static var postgresType: PostgresType { Wrapped.postgresType }

    package var isNull: Bool {
        switch self {
        case .some(let value): value.isNull
        case .none: true
        }
    }

    package func encode(into encoder: inout PostgresEncoder) { self?.encode(into: &encoder) }
}

// MARK: - Arrays

/// An element of a bound or decoded array. `[UInt8]` is bytea and not an array of anything, which is why `Array` asks
/// its element for the type and the form of the whole.
package protocol PostgresArrayElement: Sendable {
    static var postgresArrayType: PostgresType { get }
    static func encode(_ array: [Self], into encoder: inout PostgresEncoder)
    static func decodeArray(from value: PostgresValue) throws(PostgresError) -> [Self]
}

extension Array: PostgresEncodable where Element: PostgresArrayElement {
    package static var postgresType: PostgresType { Element.postgresArrayType }
    package func encode(into encoder: inout PostgresEncoder) { Element.encode(self, into: &encoder) }
}

extension UInt8: PostgresArrayElement {
    package static var postgresArrayType: PostgresType { .bytea }
    package static func encode(_ array: [UInt8], into encoder: inout PostgresEncoder) { encoder.append(bytes: array) }
}

extension PostgresArrayElement where Self: PostgresEncodable {
    package static var postgresArrayType: PostgresType { PostgresType(oid: postgresType.arrayOID) }

    /// The binary form of an array (`array_send`): dimensions, whether NULLs occur, the element's type, then for the
    /// one dimension its length and lower bound, then every element behind its length, −1 for NULL. An empty one has no
    /// dimension.
    package static func encode(_ array: [Self], into encoder: inout PostgresEncoder) {
        guard let count = Int32(exactly: array.count) else { return encoder.refuse("an array is too long") }
        encoder.append(Int32(array.isEmpty ? 0 : 1))
        encoder.append(Int32(array.contains { $0.isNull } ? 1 : 0))
        encoder.append(postgresType.oid)
        guard !array.isEmpty else { return }
        encoder.append(count)
        encoder.append(Int32(1))
        for element in array {
            if element.isNull {
                encoder.append(Int32(-1))
            } else {
                encoder.appendCounted { element.encode(into: &$0) }
            }
        }
    }
}

extension String: PostgresArrayElement {}
extension Int64: PostgresArrayElement {}
extension Int: PostgresArrayElement {}
extension Int32: PostgresArrayElement {}
extension Bool: PostgresArrayElement {}
extension Double: PostgresArrayElement {}
extension UUID: PostgresArrayElement {}
extension PostgresTimestamp: PostgresArrayElement {}
extension Array: PostgresArrayElement where Element == UInt8 {}
extension Optional: PostgresArrayElement where Wrapped: PostgresEncodable & PostgresDecodable {}
