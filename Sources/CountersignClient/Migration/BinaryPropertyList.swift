import Foundation

/// A binary property list, read object by object. It reads UIDs, by which the objects of a keyed archive refer to each
/// other, and takes any bytes: Foundation's reader of archives stops the process on Linux when one is damaged.
struct BinaryPropertyList: Sendable {
    /// Array and dictionary hold the indices of their objects.
    enum Object: Sendable, Equatable {
        case null
        case bool(Bool)
        case integer(Int)
        case real(Double)
        /// Seconds since 2001.
        case date(Double)
        case data([UInt8])
        case string(String)
        case uid(Int)
        case array([Int])
        case dictionary(keys: [Int], values: [Int])
    }

    /// The index of the outermost object.
    let top: Int
    private let bytes: [UInt8]
    private let offsets: [Int]
    private let referenceSize: Int

    /// - Returns: nil for anything else. Objects may be damaged all the same.
    init?(_ data: Data) {
        bytes = Array(data)
        // `bplist0?`, the objects, the offset of each, and 32 bytes that say where those are.
        guard bytes.count >= 40, bytes.starts(with: "bplist0".utf8) else { return nil }
        let trailer = bytes.count - 32
        let offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = Self.integer(bytes[(trailer + 8)..<(trailer + 16)]),
            let top = Self.integer(bytes[(trailer + 16)..<(trailer + 24)]),
            let table = Self.integer(bytes[(trailer + 24)..<(trailer + 32)]),
            (8..<trailer).contains(table), top < count, count <= (trailer - table) / offsetSize
        else { return nil }
        self.top = top
        var offsets: [Int] = []
        for index in 0..<count {
            let start = table + index * offsetSize
            guard let offset = Self.integer(bytes[start..<(start + offsetSize)]), (8..<table).contains(offset) else {
                return nil
            }
            offsets.append(offset)
        }
        self.offsets = offsets
    }

    /// nil for an object that there is not, or that is damaged.
    subscript(index: Int) -> Object? {
        guard offsets.indices.contains(index) else { return nil }
        var position = offsets[index] + 1
        let marker = bytes[position - 1]
        let low = Int(marker & 0x0F)
        switch marker >> 4 {
        case 0x0:
            switch marker {
            case 0x00: return .null
            case 0x08: return .bool(false)
            case 0x09: return .bool(true)
            default: return nil
            }
        case 0x1:
            guard low <= 3, let bytes = take(1 << low, at: &position) else { return nil }
            return Self.integer(bytes).map(Object.integer)
        case 0x2:
            guard low == 2 || low == 3, let bytes = take(1 << low, at: &position) else { return nil }
            return .real(Self.real(bytes))
        case 0x3:
            guard low == 3, let bytes = take(8, at: &position) else { return nil }
            return .date(Self.real(bytes))
        case 0x4:
            return count(low, at: &position).flatMap { take($0, at: &position) }.map { .data(Array($0)) }
        case 0x5:
            return count(low, at: &position).flatMap { take($0, at: &position) }
                .flatMap { String(validating: Array($0)) }.map(Object.string)
        case 0x6:
            return count(low, at: &position).flatMap { take($0, times: 2, at: &position) }.map { bytes in
                let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { index in
                    UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1])
                }
                return .string(String(decoding: units, as: UTF16.self))
            }
        case 0x8:
            return take(low + 1, at: &position).flatMap(Self.integer).map(Object.uid)
        case 0xA:
            return count(low, at: &position).flatMap { references($0, at: &position) }.map(Object.array)
        case 0xD:
            guard let count = count(low, at: &position), let keys = references(count, at: &position),
                let values = references(count, at: &position)
            else { return nil }
            return .dictionary(keys: keys, values: values)
        default: return nil
        }
    }

    private func take(_ count: Int, times size: Int = 1, at position: inout Int) -> ArraySlice<UInt8>? {
        guard count <= (bytes.count - position) / size else { return nil }
        defer { position += count * size }
        return bytes[position..<(position + count * size)]
    }

    /// The low half of a marker, or the integer behind it.
    private func count(_ low: Int, at position: inout Int) -> Int? {
        guard low == 0x0F else { return low }
        guard let marker = take(1, at: &position)?.first, marker & 0xFC == 0x10 else { return nil }
        return take(1 << Int(marker & 0x0F), at: &position).flatMap(Self.integer)
    }

    private func references(_ count: Int, at position: inout Int) -> [Int]? {
        guard let bytes = take(count, times: referenceSize, at: &position) else { return nil }
        return stride(from: bytes.startIndex, to: bytes.endIndex, by: referenceSize).map {
            // What does not fit is the index of nothing.
            Self.integer(bytes[$0..<($0 + referenceSize)]) ?? -1
        }
    }

    /// Big-endian; nil for one that is negative or does not fit.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int? {
        Int(exactly: bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }

    private static func real(_ bytes: ArraySlice<UInt8>) -> Double {
        bytes.count == 4
            ? Double(Float(bitPattern: bytes.reduce(0) { $0 << 8 | UInt32($1) }))
            : Double(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }
}
