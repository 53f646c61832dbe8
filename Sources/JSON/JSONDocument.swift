/// One value or member name of a parsed document: where its text lies and where the next one begins.
struct JSONNode {
    enum Kind: UInt8 {
        case object
        case array
        case name
        case string
        case number
        case `true`
        case `false`
        case null
    }

    let kind: Kind
    /// Whether the text of a string or name has escapes, so that its bytes are not its value.
    var hasEscapes = false
    /// The first byte of the text; of a string or name, the one after the quotation mark.
    let offset: UInt32
    /// Bytes of the text, without quotation marks.
    var length: UInt32
    /// For an object or array, the index of the first node after its last descendant; for a name, its fingerprint.
    var link: UInt32 = 0

    var range: Range<Int> { Int(offset)..<Int(offset) + Int(length) }

    var isContainer: Bool { kind == .object || kind == .array }
}

/// A parsed document: its bytes and one flat array of nodes in document order.
///
/// An object is followed by its members, each a name and then its value with all that is in it; an array by its
/// elements. Nothing is copied out of the bytes until a `String` is requested.
final class JSONDocument: Sendable {
    let bytes: [UInt8]
    let nodes: [JSONNode]

    init(bytes: [UInt8], nodes: [JSONNode]) {
        self.bytes = bytes
        self.nodes = nodes
    }

    /// The index of the node that follows the value at `index` and everything in it.
    func next(after index: Int) -> Int {
        let node = nodes[index]
        return node.isContainer ? Int(node.link) : index + 1
    }

    /// The index of the value of the member with this name.
    func member(named name: Span<UInt8>, of object: Int) -> Int? {
        let fingerprint = JSONText.fingerprint(name)
        let nodes = nodes
        let end = Int(nodes[object].link)
        var index = object + 1
        while index < end {
            if nodes[index].link == fingerprint, text(at: index, equals: name) { return index + 1 }
            let value = nodes[index + 1]
            index = value.isContainer ? Int(value.link) : index + 2
        }
        return nil
    }

    /// Whether the string or name at `index` is, escapes undone, exactly these bytes.
    func text(at index: Int, equals expected: Span<UInt8>) -> Bool {
        let node = nodes[index]
        guard node.hasEscapes || Int(node.length) == expected.count else { return false }
        let bytes = bytes
        let text = bytes.span.extracting(node.range)
        if node.hasEscapes { return JSONText.equal(JSONText.unescaped(text).span, expected) }
        return JSONText.equal(text, expected)
    }

    /// Whether the string at `index` has characters from U+0000 to U+001F. The reader refuses bare ones, so they
    /// can only come from escapes.
    func hasControlCharacters(at index: Int) -> Bool {
        nodes[index].hasEscapes && text(at: index).contains { $0 < 0x20 }
    }

    /// The bytes of the string or name at `index`, escapes undone.
    func text(at index: Int) -> [UInt8] {
        let node = nodes[index]
        let bytes = bytes
        return node.hasEscapes ? JSONText.unescaped(bytes.span.extracting(node.range)) : Array(bytes[node.range])
    }

    func string(at index: Int) -> String {
        let node = nodes[index]
        if node.hasEscapes { return String(decoding: text(at: index), as: UTF8.self) }
        return String(decoding: bytes[node.range], as: UTF8.self)
    }
}
