/// A value in a parsed JSON document; a view, so copying it copies no text.
///
/// Types are exact: a string of digits is no number and `"true"` is no boolean. Names and strings compare by their
/// bytes with escapes undone, never by Swift's canonical equivalence, under which `"é"` and `"e\u{301}"` are one.
package struct JSONValue: Sendable {
    package enum Kind: Sendable {
        case object
        case array
        case string
        case number
        case bool
        case null
    }

    let document: JSONDocument
    let index: Int

    /// Reads a whole document: one value with nothing but white space around it.
    package init(parsing bytes: [UInt8], limits: JSONLimits = .standard) throws(JSONError) {
        var reader = JSONReader(limits: limits)
        try reader.read(bytes.span)
        document = JSONDocument(bytes: bytes, nodes: reader.nodes)
        index = 0
    }

    private init(document: JSONDocument, index: Int) {
        self.document = document
        self.index = index
    }

    var node: JSONNode { document.nodes[index] }

    package var kind: Kind {
        switch node.kind {
        case .object: .object
        case .array: .array
        case .name, .string: .string
        case .number: .number
        case .true, .false: .bool
        case .null: .null
        }
    }

    // MARK: Scalars

    package var string: String? { node.kind == .string ? document.string(at: index) : nil }

    /// The UTF-8 of a string.
    package var stringBytes: [UInt8]? { node.kind == .string ? document.text(at: index) : nil }

    /// Whether this is a string with exactly these bytes of UTF-8.
    package func isString(equalTo expected: String) -> Bool {
        node.kind == .string && document.text(at: index, equals: expected.utf8Span.span)
    }

    /// Whether this is a string with one of U+0000 to U+001F in it.
    package var hasControlCharacters: Bool { node.kind == .string && document.hasControlCharacters(at: index) }

    package var bool: Bool? {
        switch node.kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    package var isNull: Bool { node.kind == .null }

    /// The exact value of a number; see `JSONNumber` for the few that have none.
    package var number: JSONNumber? {
        guard node.kind == .number else { return nil }
        let bytes = document.bytes
        return JSONNumber(bytes.span.extracting(node.range))
    }

    /// The value of a number that is an integer of 64 bits, however it is written: `1000`, `1e3`, `1000.0`.
    package var integer: Int64? { digits ?? number?.integer }

    /// The value of a number written as 1 to 18 digits and nothing else, as almost all are.
    package var digits: Int64? {
        guard node.kind == .number, node.length <= 18 else { return nil }
        var value: Int64 = 0
        let bytes = document.bytes
        let text = bytes.span.extracting(node.range)
        for index in text.indices {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= text[index] else { return nil }
            value = value &* 10 &+ Int64(text[index] &- UInt8(ascii: "0"))
        }
        return value
    }

    // MARK: Containers

    /// The member of an object with this name.
    package subscript(_ name: String) -> JSONValue? {
        guard node.kind == .object, let index = document.member(named: name.utf8Span.span, of: index) else {
            return nil
        }
        return JSONValue(document: document, index: index)
    }

    /// The elements of an array.
    package var elements: [JSONValue]? {
        guard node.kind == .array else { return nil }
        var elements: [JSONValue] = []
        var index = index + 1
        while index < Int(node.link) {
            elements.append(JSONValue(document: document, index: index))
            index = document.next(after: index)
        }
        return elements
    }

    /// The members of an object, in the order of the document.
    package var members: [(name: String, value: JSONValue)]? {
        guard node.kind == .object else { return nil }
        var members: [(name: String, value: JSONValue)] = []
        var index = index + 1
        while index < Int(node.link) {
            members.append((document.string(at: index), JSONValue(document: document, index: index + 1)))
            index = document.next(after: index + 1)
        }
        return members
    }
}
