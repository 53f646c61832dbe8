/// One value of a result as the server sent it, in binary.
@safe
package struct PostgresValue {
    private let result: ServerResult
    /// Points into `result`, which is kept alive for it.
    private let start: UnsafeRawPointer?
    private let count: Int
    /// The object identifier of its type.
    package let type: UInt32

    @unsafe
    init(holding result: ServerResult, start: UnsafeRawPointer?, count: Int, type: UInt32) {
        self.result = result
        unsafe self.start = unsafe start
        self.count = count
        self.type = type
    }

    package var isNull: Bool { unsafe start == nil }

    /// Calls `body` with the octets; throws for NULL.
    package func withBytes<R>(_ body: (RawSpan) throws(PostgresError) -> R) throws(PostgresError) -> R {
        guard let start = unsafe start else { throw Self.mismatch("NULL where a value was asked for") }
        defer { withExtendedLifetime(result) {} }
        return try body(unsafe RawSpan(_unsafeStart: start, byteCount: count))
    }

    package func integer<Wire: FixedWidthInteger & BitwiseCopyable>(_: Wire.Type) throws(PostgresError) -> Wire {
        try withBytes { bytes throws(PostgresError) in
            guard bytes.byteCount == MemoryLayout<Wire>.size else { throw Self.mismatch("a value of another length") }
            return unsafe Wire(bigEndian: bytes.unsafeLoadUnaligned(as: Wire.self))
        }
    }

    package func expect(_ expected: PostgresType) throws(PostgresError) {
        guard type == expected.oid else {
            throw Self.mismatch("type \(type) where \(expected.oid) was asked for")
        }
    }

    /// The elements of a one-dimensional array; see `array_send`, and `PostgresArrayElement` for the layout.
    package func elements() throws(PostgresError) -> [PostgresValue] {
        try withBytes { bytes throws(PostgresError) in
            func integer(_ offset: Int) throws(PostgresError) -> Int {
                guard offset + 4 <= bytes.byteCount else { throw Self.mismatch("an array that ends early") }
                return unsafe Int(Int32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Int32.self)))
            }
            let dimensions = try integer(0)
            let elementType = UInt32(truncatingIfNeeded: try integer(8))
            if dimensions == 0 { return [] }
            guard dimensions == 1 else { throw Self.mismatch("an array of \(dimensions) dimensions") }
            let size = try integer(12)
            var offset = 20
            var elements: [PostgresValue] = []
            elements.reserveCapacity(max(0, min(size, bytes.byteCount / 4)))
            while elements.count < size {
                let length = try integer(offset)
                offset += 4
                guard length <= bytes.byteCount - offset else { throw Self.mismatch("an array that ends early") }
                unsafe elements.append(
                    PostgresValue(
                        holding: result, start: length < 0 ? nil : start.map { unsafe $0 + offset },
                        count: max(0, length), type: elementType))
                offset += max(0, length)
            }
            return elements
        }
    }

    /// A decoding error. `PostgresRow` and the statement add where it happened; the value itself is never part of it.
    package static func mismatch(_ reason: String) -> PostgresError {
        PostgresError(.decoding, operation: .query, location: "", message: reason)
    }
}
