/// The elements of an array in a large JSON document, one after the other: of the member with a name, in an object at the top
/// or in an array there. What is around them is passed over; of an element that is too long nothing is kept.
struct ElementReader {
    private let input: any ByteInput
    private let member: String
    private let continuations: Set<[UInt8]>
    private var chunk: [UInt8] = []
    private var position = 0
    /// The objects (`{`) and arrays (`[`) around the position.
    private var open: [UInt8] = []
    /// The last string of the object around the position, as long as it may name the array.
    private var name: [UInt8] = []
    private var isInArray = false
    private var hasFoundArray = false
    /// Whether a member of the last object at the top, or in an array there, says where the elements go on behind it.
    private(set) var goesOn = false

    private static let maximumDepth = 256

    /// - Parameters:
    ///   - continuations: the members that a page has besides, whose text leads to the next one.
    ///   - begun: the beginning of the input, which has been read already.
    init(_ input: any ByteInput, member: String, continuations: [String] = [], begun: [UInt8] = []) {
        self.input = input
        self.member = member
        self.continuations = Set(continuations.map { Array($0.utf8) })
        chunk = begun
    }

    /// - Returns: `nil` at the end of the document.
    /// - Throws: ``SourceFault`` when it is none, or has no such array.
    mutating func next() throws -> RowBytes? {
        while let byte = try nextByte() {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ":"): continue
            case UInt8(ascii: ","): name = []
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                guard let opened = open.popLast(), (opened == UInt8(ascii: "[")) == (byte == UInt8(ascii: "]")) else {
                    throw noJSON
                }
                isInArray = false
                name = []
            case _ where isInArray: return .some(try element(from: byte))
            case UInt8(ascii: "\""):
                let text = try string()
                goesOn = goesOn || isAtTop && continuations.contains(name) && !text.isEmpty
                name = text
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard open.count < Self.maximumDepth else { throw noJSON }
                isInArray = byte == UInt8(ascii: "[") && isAtTop && name.elementsEqual(member.utf8)
                if open.isEmpty || open == [UInt8(ascii: "[")] { goesOn = false }
                hasFoundArray = hasFoundArray || isInArray
                open.append(byte)
                name = []
            default:
                guard !open.isEmpty else { throw noJSON }
            }
        }
        guard open.isEmpty else { throw SourceFault("The document ends early: it is not whole.") }
        guard hasFoundArray else { throw SourceFault("The document has no array “\(member)”.") }
        return nil
    }

    /// Whether the position is in an object at the top, or in an array there.
    private var isAtTop: Bool { open.last == UInt8(ascii: "{") && open.count <= 2 }

    private var noJSON: SourceFault { SourceFault("The source is no JSON document.") }

    private mutating func nextByte() throws -> UInt8? {
        while position == chunk.count {
            guard let more = try input.read() else { return nil }
            (chunk, position) = (more, 0)
        }
        defer { position += 1 }
        return chunk[position]
    }

    /// The bytes of a string behind its quotation mark; the first of them, if it is longer than any name.
    private mutating func string() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let byte = try nextByte(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") { _ = try nextByte() }
            if bytes.count < 64 { bytes.append(byte) }
        }
        return bytes
    }

    private mutating func element(from first: UInt8) throws -> RowBytes {
        var bytes: [UInt8] = []
        var isTooLong = false
        var depth = 0
        var isInString = false
        var isEscaped = false
        var byte = first
        while true {
            if bytes.count >= maximumRowBytes { (isTooLong, bytes) = (true, []) }
            if !isTooLong { bytes.append(byte) }
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                default: break
                }
            }
            if depth <= 0 && !isInString, let end = try endOfElement(depth: depth) {
                if !end { throw noJSON }
                return isTooLong ? nil : bytes
            }
            guard let next = try nextByte() else { throw SourceFault("The document ends early: it is not whole.") }
            byte = next
        }
    }

    /// Whether the element ends here: at what follows it, which is left. `nil` while it goes on.
    private mutating func endOfElement(depth: Int) throws -> Bool? {
        if depth < 0 { return false }
        if position == chunk.count {
            guard let more = try input.read() else { throw SourceFault("The document ends early: it is not whole.") }
            (chunk, position) = (more, 0)
        }
        switch chunk[position] {
        case UInt8(ascii: ","), UInt8(ascii: "]"), 0x20, 0x09, 0x0A, 0x0D: return true
        default: return nil
        }
    }
}
