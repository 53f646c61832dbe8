import Primitives

/// A writer of one JSON document as compact UTF-8.
///
/// It inserts the commas and closes what it opens; the caller has to write one value after every `name`.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init() {}

    @usableFromInline
    package init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Takes the bytes that are written so far; the document goes on.
    package mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// An object whose members are what `write` writes.
    @inlinable
    package mutating func object<Failure: Error>(_ write: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        begin(UInt8(ascii: "{"))
        try write(&self)
        end(UInt8(ascii: "}"))
    }

    /// An array whose elements are what `write` writes.
    @inlinable
    package mutating func array<Failure: Error>(_ write: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        begin(UInt8(ascii: "["))
        try write(&self)
        end(UInt8(ascii: "]"))
    }

    /// An object that is written in parts, between which its bytes are taken.
    package mutating func streamedObject(_ write: (inout JSONWriter) async throws -> Void) async throws {
        begin(UInt8(ascii: "{"))
        try await write(&self)
        end(UInt8(ascii: "}"))
    }

    /// An array that is written in parts, between which its bytes are taken.
    package mutating func streamedArray(_ write: (inout JSONWriter) async throws -> Void) async throws {
        begin(UInt8(ascii: "["))
        try await write(&self)
        end(UInt8(ascii: "]"))
    }

    package mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func string(_ value: String) {
        separate()
        quote(value)
        needsComma = true
    }

    /// The members of an object that a writer has written before, among those of another.
    package mutating func members(of object: String) {
        let members = object.utf8.dropFirst().dropLast()
        guard !members.isEmpty else { return }
        separate()
        bytes.append(contentsOf: members)
        needsComma = true
    }

    package mutating func integer(_ value: Int64) { literal(String(value)) }

    package mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }

    package mutating func null() { literal("null") }

    /// A value that was read, in the spelling of its document but without its white space: on one line.
    package mutating func value(_ value: JSONValue) { copy(value.index, of: value.document) }

    /// Recursive: as deep as the document, which its reader's limits bound.
    private mutating func copy(_ index: Int, of document: JSONDocument) {
        let node = document.nodes[index]
        switch node.kind {
        case .object, .array:
            let isObject = node.kind == .object
            begin(isObject ? UInt8(ascii: "{") : UInt8(ascii: "["))
            var child = index + 1
            while child < Int(node.link) {
                copy(child, of: document)
                child = document.next(after: child)
            }
            end(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
        case .name:
            separate()
            quoteVerbatim(document.bytes[node.range])
            bytes.append(UInt8(ascii: ":"))
            needsComma = false
        case .string:
            separate()
            quoteVerbatim(document.bytes[node.range])
            needsComma = true
        case .number, .true, .false, .null:
            separate()
            bytes.append(contentsOf: document.bytes[node.range])
            needsComma = true
        }
    }

    private mutating func quoteVerbatim(_ text: ArraySlice<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "\""))
    }

    @usableFromInline
    mutating func begin(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    @usableFromInline
    mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func literal(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    private mutating func separate() { if needsComma { bytes.append(UInt8(ascii: ",")) } }

    /// Escapes what RFC 8259 §7 says must be, and nothing else.
    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var copied = 0
            while true {
                let next = Self.firstToEscape(in: utf8, from: copied)
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[copied..<next]))
                guard next < utf8.count else { break }
                escape(utf8[next])
                copied = next + 1
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The index of the next byte that must be escaped; the count if there is none. Almost no text has one, so eight bytes
    /// are looked at together.
    private static func firstToEscape(in utf8: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        let text = UnsafeRawBufferPointer(utf8)
        var index = start
        while index + 8 <= text.count,
            !hasByteToEscape(text.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        {
            index += 8
        }
        while index < text.count, !needsEscape(text[index]) { index += 1 }
        return index
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// ``needsEscape(_:)`` of any of eight bytes: a subtraction borrows into the highest bit of a byte that is less, and a
    /// byte that is equal to another is less than 1 once they are combined by XOR.
    private static func hasByteToEscape(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        func isLess(_ word: UInt64, than limit: UInt64) -> UInt64 { (word &- ones &* limit) & ~word }
        let found =
            isLess(word, than: 0x20) | isLess(word ^ (ones &* 0x22), than: 1) | isLess(word ^ (ones &* 0x5C), than: 1)
        return found & (ones << 7) != 0
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        case 0x00..<0x20:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(Hexadecimal.digit(byte >> 4))
            bytes.append(Hexadecimal.digit(byte & 0xF))
        default:
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        }
    }
}

extension JSONWriter {
    package mutating func member(_ name: String, _ value: String) {
        self.name(name)
        string(value)
    }

    package mutating func member(_ name: String, _ value: Int64) {
        self.name(name)
        integer(value)
    }

    package mutating func member(_ name: String, _ value: Int) {
        self.name(name)
        integer(Int64(value))
    }

    package mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        bool(value)
    }

    /// An array of strings.
    @inlinable
    package mutating func member(_ name: String, _ values: some Sequence<String>) {
        array(name) { array in
            for value in values { array.string(value) }
        }
    }

    @inlinable
    package mutating func object<Failure: Error>(
        _ name: String, _ write: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.name(name)
        try object(write)
    }

    @inlinable
    package mutating func array<Failure: Error>(
        _ name: String, _ write: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.name(name)
        try array(write)
    }

    /// An array of objects: `write` writes the members of each.
    @inlinable
    package mutating func objects<Items: Sequence>(
        _ name: String, of items: Items, _ write: (Items.Element, inout JSONWriter) -> Void
    ) {
        array(name) { array in
            for item in items { array.object { write(item, &$0) } }
        }
    }

    package mutating func member(_ name: String, _ value: JSONValue) {
        self.name(name)
        self.value(value)
    }

    /// Writes nothing for nil.
    package mutating func member(_ name: String, _ value: String?) { if let value { member(name, value) } }
}

extension JSONWriter {
    /// The document of one object.
    @inlinable
    package static func object<Failure: Error>(
        _ write: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        try writer.object(write)
        return writer.bytes
    }

    /// The document of one object, as text.
    @inlinable
    package static func text(_ write: (inout JSONWriter) -> Void) -> String {
        String(decoding: object(write), as: UTF8.self)
    }
}
