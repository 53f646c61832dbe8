/// The parameters of one statement in PostgreSQL's binary format, one after the other in a single buffer.
package struct PostgresEncoder: Sendable {
    /// The range of each parameter in `bytes`; nil stands for NULL.
    private(set) var ranges: [Range<Int>?] = []
    private(set) var types: [UInt32] = []
    private(set) var bytes: [UInt8] = []
    /// The reason why a value has no binary form, if one has none; the statement is then refused before anything is
    /// sent.
    private(set) var fault: String?

    init(parameters: Int = 0) {
        ranges.reserveCapacity(parameters)
        types.reserveCapacity(parameters)
        if parameters > 0 { bytes.reserveCapacity(parameters * 24) }
    }

    mutating func bind(_ value: some PostgresEncodable) {
        let start = bytes.count
        let isNull = value.isNull
        if !isNull { value.encode(into: &self) }
        ranges.append(isNull ? nil : start..<bytes.count)
        types.append(type(of: value).postgresType.oid)
    }

    mutating func append(contentsOf other: PostgresEncoder) {
        let shift = bytes.count
        for range in other.ranges {
            ranges.append(range.map { $0.lowerBound + shift..<$0.upperBound + shift })
        }
        types += other.types
        bytes += other.bytes
        fault = fault ?? other.fault
    }

    package mutating func refuse(_ reason: String) { fault = fault ?? reason }

    package mutating func append(_ value: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    package mutating func append(bytes value: [UInt8]) { bytes += value }

    /// PostgreSQL's text cannot hold U+0000. It is refused here, where the whole value is still known: cut at the NUL,
    /// "victim\0evil" would pass for "victim".
    package mutating func append(text: String) {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        if bytes[start...].contains(0) { refuse("a text holds U+0000") }
    }

    /// Appends what `body` encodes, behind its four-octet length.
    mutating func appendCounted(_ body: (inout PostgresEncoder) -> Void) {
        let mark = bytes.count
        append(Int32(0))
        body(&self)
        guard let length = Int32(exactly: bytes.count - mark - 4) else { return refuse("an array element is too long") }
        let octets = UInt32(bitPattern: length)
        for offset in 0..<4 {
            bytes[mark + offset] = UInt8(truncatingIfNeeded: octets >> UInt32(24 - 8 * offset))
        }
    }
}
