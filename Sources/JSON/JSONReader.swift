/// A reader that checks a document against RFC 8259 and lists its nodes, in one pass.
///
/// The one reader for tokens, key sets and request bodies: with two of them, one would see `{"sub":"a","s\u0075b":"b"}`
/// as a and the other as b. There is no recursion, so no document can exhaust the stack.
struct JSONReader {
    private(set) var nodes: [JSONNode] = []
    private let limits: JSONLimits
    private var position = 0
    /// The open object or array that the next value belongs to. While it is open, its node's `link` is the one around
    /// it and its `length` counts its members.
    private var container: UInt32?
    private var depth = 0

    init(limits: JSONLimits) { self.limits = limits }

    mutating func read(_ bytes: Span<UInt8>) throws(JSONError) {
        // Offsets are 32 bits wide.
        guard bytes.count <= min(limits.maximumBytes, Int(Int32.max)) else { throw refusal(.limit) }
        nodes.reserveCapacity(min(bytes.count / 8 + 8, 256))
        var awaitsValue = true
        while awaitsValue || container != nil {
            awaitsValue = try awaitsValue ? readValue(bytes) : readSeparator(bytes)
        }
        skipWhitespace(bytes)
        guard position == bytes.count else { throw refusal(.syntax) }
    }

    /// Reads a scalar, or the beginning of an object or array.
    /// - Returns: whether another value must follow.
    private mutating func readValue(_ bytes: Span<UInt8>) throws(JSONError) -> Bool {
        skipWhitespace(bytes)
        guard position < bytes.count else { throw refusal(.truncated) }
        switch bytes[position] {
        case UInt8(ascii: "\""): try readString(bytes, as: .string)
        case UInt8(ascii: "{"): return try open(.object, closedBy: UInt8(ascii: "}"), bytes)
        case UInt8(ascii: "["): return try open(.array, closedBy: UInt8(ascii: "]"), bytes)
        case UInt8(ascii: "t"): try readLiteral("true", as: .true, bytes)
        case UInt8(ascii: "f"): try readLiteral("false", as: .false, bytes)
        case UInt8(ascii: "n"): try readLiteral("null", as: .null, bytes)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber(bytes)
        default: throw refusal(.syntax)
        }
        return false
    }

    /// After a value inside a container: a comma, and in an object the next name; or the end of the container.
    /// - Returns: whether another value must follow.
    private mutating func readSeparator(_ bytes: Span<UInt8>) throws(JSONError) -> Bool {
        guard let container else { return false }
        skipWhitespace(bytes)
        guard position < bytes.count else { throw refusal(.truncated) }
        let isObject = nodes[Int(container)].kind == .object
        switch bytes[position] {
        case UInt8(ascii: ","):
            position += 1
            if isObject { try readName(bytes) }
            return true
        case UInt8(ascii: "}") where isObject, UInt8(ascii: "]") where !isObject:
            position += 1
            close(container)
            return false
        default:
            throw refusal(.syntax)
        }
    }

    private mutating func open(
        _ kind: JSONNode.Kind, closedBy end: UInt8, _ bytes: Span<UInt8>
    ) throws(JSONError) -> Bool {
        guard depth < limits.maximumDepth else { throw refusal(.limit) }
        depth += 1
        let index = UInt32(truncatingIfNeeded: nodes.count)
        nodes.append(JSONNode(kind: kind, offset: offset, length: 0, link: container ?? .max))
        container = index
        position += 1
        skipWhitespace(bytes)
        guard position < bytes.count else { throw refusal(.truncated) }
        if bytes[position] == end {
            position += 1
            close(index)
            return false
        }
        if kind == .object { try readName(bytes) }
        return true
    }

    private mutating func close(_ index: UInt32) {
        depth -= 1
        let around = nodes[Int(index)].link
        container = around == .max ? nil : around
        nodes[Int(index)].link = UInt32(truncatingIfNeeded: nodes.count)
        nodes[Int(index)].length = offset - nodes[Int(index)].offset
    }

    /// A member name, the colon after it, and the proof that the object has no other member of this name.
    private mutating func readName(_ bytes: Span<UInt8>) throws(JSONError) {
        guard let container else { return }
        skipWhitespace(bytes)
        guard position < bytes.count else { throw refusal(.truncated) }
        guard bytes[position] == UInt8(ascii: "\"") else { throw refusal(.syntax) }
        nodes[Int(container)].length += 1
        guard nodes[Int(container)].length <= limits.maximumMembers else { throw refusal(.limit) }
        try readString(bytes, as: .name)
        try refuseDuplicate(bytes, in: Int(container))
        skipWhitespace(bytes)
        guard position < bytes.count else { throw refusal(.truncated) }
        guard bytes[position] == UInt8(ascii: ":") else { throw refusal(.syntax) }
        position += 1
    }

    /// Compares the last node, a name, with the names before it in its object. Decoders that keep the first and
    /// decoders that keep the last of two equal names read two different documents (RFC 8259 §4, RFC 7519 §4).
    private mutating func refuseDuplicate(_ bytes: Span<UInt8>, in object: Int) throws(JSONError) {
        let last = nodes.count - 1
        let text = bytes.extracting(nodes[last].range)
        let unescaped = nodes[last].hasEscapes ? JSONText.unescaped(text) : []
        let name = nodes[last].hasEscapes ? unescaped.span : text
        let fingerprint = JSONText.fingerprint(name)
        nodes[last].link = fingerprint
        let nodes = nodes.span
        var index = object + 1
        while index < last {
            if nodes[index].link == fingerprint {
                let earlier = bytes.extracting(nodes[index].range)
                let isSame =
                    nodes[index].hasEscapes
                    ? JSONText.equal(JSONText.unescaped(earlier).span, name) : JSONText.equal(earlier, name)
                guard !isSame else { throw refusal(.duplicateName) }
            }
            let value = nodes[index + 1]
            index = value.isContainer ? Int(value.link) : index + 2
        }
    }

    private mutating func readLiteral(
        _ literal: StaticString, as kind: JSONNode.Kind, _ bytes: Span<UInt8>
    ) throws(JSONError) {
        let count = literal.utf8CodeUnitCount
        guard position + count <= bytes.count else { throw refusal(.truncated) }
        for index in 0..<count where bytes[position + index] != literal.utf8Start[index] { throw refusal(.syntax) }
        nodes.append(JSONNode(kind: kind, offset: offset, length: UInt32(truncatingIfNeeded: count)))
        position += count
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    private mutating func readNumber(_ bytes: Span<UInt8>) throws(JSONError) {
        let start = offset
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        if position < bytes.count, bytes[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            try skipDigits(bytes)
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try skipDigits(bytes)
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try skipDigits(bytes)
        }
        guard offset - start <= limits.maximumNumberBytes else { throw refusal(.limit) }
        nodes.append(JSONNode(kind: .number, offset: start, length: offset - start))
    }

    /// One digit at least.
    private mutating func skipDigits(_ bytes: Span<UInt8>) throws(JSONError) {
        let start = position
        while position < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[position] { position += 1 }
        guard position > start else { throw refusal(position < bytes.count ? .syntax : .truncated) }
    }

    /// A string or name whose quotation mark is at `position`.
    private mutating func readString(_ bytes: Span<UInt8>, as kind: JSONNode.Kind) throws(JSONError) {
        position += 1
        let start = offset
        let text = try JSONStringScan(bytes, from: position, limits: limits)
        nodes.append(
            JSONNode(
                kind: kind, hasEscapes: text.hasEscapes, offset: start,
                length: UInt32(truncatingIfNeeded: text.end) - start))
        position = text.end + 1
    }

    @inline(__always)
    private mutating func skipWhitespace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private var offset: UInt32 { UInt32(truncatingIfNeeded: position) }

    private func refusal(_ kind: JSONError.Kind) -> JSONError { JSONError(kind: kind, offset: position) }
}
