package import FoundationEssentials

/// A value that can be read from a result. A type whose raw value is readable conforms without writing anything; a raw
/// value it does not know is a decoding error.
package protocol PostgresDecodable {
    init(from value: PostgresValue) throws(PostgresError)
}

extension PostgresDecodable where Self: RawRepresentable, RawValue: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        guard let known = Self(rawValue: try RawValue(from: value)) else {
            throw PostgresValue.mismatch("a raw value that \(Self.self) does not know")
        }
        self = known
    }
}

extension String: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        let isVersioned = value.type == ResultType.jsonb
        switch value.type {
        case PostgresType.text.oid, ResultType.varchar, ResultType.bpchar, ResultType.name, ResultType.unknown,
            ResultType.json, ResultType.jsonb, ResultType.firstUserDefined...:
            break
        default: throw PostgresValue.mismatch("type \(value.type) where a text was asked for")
        }
        self = try value.withBytes { bytes throws(PostgresError) in
            // jsonb is sent as its text behind a version octet, 1.
            let text = isVersioned ? bytes.extracting(droppingFirst: 1) : bytes
            do throws(UTF8.ValidationError) {
                return String(copying: try UTF8Span(validating: Span<UInt8>(_bytes: text)))
            } catch {
                throw PostgresValue.mismatch("a text that is not UTF-8")
            }
        }
    }
}

extension Int64: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        switch value.type {
        case PostgresType.int8.oid: self = try value.integer(Int64.self)
        case PostgresType.int4.oid: self = Int64(try value.integer(Int32.self))
        case ResultType.int2: self = Int64(try value.integer(Int16.self))
        case ResultType.objectID: self = Int64(try value.integer(UInt32.self))
        default: throw PostgresValue.mismatch("type \(value.type) where an integer was asked for")
        }
    }
}

extension Int: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) { self = Int(try Int64(from: value)) }
}

extension Int32: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        guard let narrow = Int32(exactly: try Int64(from: value)) else {
            throw PostgresValue.mismatch("an integer over 32 bits")
        }
        self = narrow
    }
}

extension Bool: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        try value.expect(.bool)
        self = try value.integer(UInt8.self) != 0
    }
}

extension Double: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        if value.type == ResultType.float4 {
            self = Double(Float(bitPattern: try value.integer(UInt32.self)))
        } else {
            try value.expect(.float8)
            self = Double(bitPattern: try value.integer(UInt64.self))
        }
    }
}

extension UUID: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        try value.expect(.uuid)
        self = try value.withBytes { octets throws(PostgresError) in
            guard octets.byteCount == 16 else { throw PostgresValue.mismatch("a uuid of \(octets.byteCount) octets") }
            return unsafe UUID(uuid: octets.unsafeLoadUnaligned(as: uuid_t.self))
        }
    }
}

extension PostgresTimestamp: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        try value.expect(.timestamptz)
        self.init(wireValue: try value.integer(Int64.self))
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        self = value.isNull ? nil : try Wrapped(from: value)
    }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    package init(from value: PostgresValue) throws(PostgresError) { self = try Element.decodeArray(from: value) }
}

extension [UInt8] {
    fileprivate init(bytesOf value: PostgresValue) throws(PostgresError) {
        self = try value.withBytes { bytes throws(PostgresError) in
            unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        }
    }
}

extension UInt8 {
    package static func decodeArray(from value: PostgresValue) throws(PostgresError) -> [UInt8] {
        try value.expect(.bytea)
        return try [UInt8](bytesOf: value)
    }
}

extension PostgresArrayElement where Self: PostgresDecodable {
    package static func decodeArray(from value: PostgresValue) throws(PostgresError) -> [Self] {
        var array: [Self] = []
        for element in try value.elements() {
            array.append(try Self(from: element))
        }
        return array
    }
}
