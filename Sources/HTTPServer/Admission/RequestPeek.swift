import Primitives

/// A *plain* request, whose end can be seen without an HTTP parser.
///
/// It is HTTP/1.1, states the length of its body or has none, keeps its connection, and expects no interim response;
/// the bytes begin with it and hold nothing after it. Every other request goes to the decoder, which alone decides what
/// is well-formed: nothing is accepted because of what is found here.
struct RequestPeek {
    /// The range of the request line, from the first byte.
    let line: Range<Int>
    /// The range of the value of `X-Request-Id`.
    private(set) var requestID: Range<Int>?
    /// Bytes of the body that are still to come.
    private(set) var missingBytes = 0

    /// - Parameter limits: a request beyond them isn't plain.
    init?(_ bytes: Span<UInt8>, limits: ServerLimits) {
        guard let line = Self.line(in: bytes, from: 0), Self.isVersion11(bytes, line) else { return nil }
        self.line = line
        var position = line.upperBound + 2
        var bodyBytes: Int?
        var hosts = 0
        for _ in 0...limits.headerFields {
            guard position <= limits.headerBytes, let line = Self.line(in: bytes, from: position) else { return nil }
            position = line.upperBound + 2
            guard !line.isEmpty else {
                missingBytes = (bodyBytes ?? 0) - (bytes.count - position)
                guard hosts == 1, missingBytes >= 0 else { return nil }
                return
            }
            guard let field = Field(bytes, line) else { return nil }
            switch field.known(bytes) {
            case nil: break
            case .host:
                hosts += 1
                guard field.value.allSatisfy({ RequestAssembly.isHostByte(bytes[$0]) }) else { return nil }
            case .contentLength:
                guard bodyBytes == nil, let count = field.number(bytes), count <= limits.bodyBytes else { return nil }
                bodyBytes = count
            case .requestID:
                guard requestID == nil else { return nil }
                requestID = field.value
            case .connection:
                guard field.value.count == 10, Self.equals(bytes, field.value, "keep-alive") else { return nil }
            case .other: return nil
            }
        }
        return nil
    }

    /// The range from `start` to the next CR LF; `nil` without one, or if a byte before it is no visible ASCII
    /// character, space or tab.
    private static func line(in bytes: Span<UInt8>, from start: Int) -> Range<Int>? {
        var end = start
        while end < bytes.count, 0x20..<0x7F ~= bytes[end] || bytes[end] == 0x09 { end += 1 }
        guard end + 1 < bytes.count, bytes[end] == 0x0D, bytes[end + 1] == 0x0A else { return nil }
        return start..<end
    }

    private static func isVersion11(_ bytes: Span<UInt8>, _ line: Range<Int>) -> Bool {
        let version = line.suffix(9)
        return version.count == 9 && equals(bytes, version, " http/1.1")
    }

    /// Case-insensitive ASCII comparison; `text` must be lower-case.
    private static func equals(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { text in
            for offset in 0..<text.count where unsafe bytes[range.lowerBound + offset] | 0x20 != text[offset] {
                return false
            }
            return true
        }
    }

    /// One field line.
    private struct Field {
        enum Known {
            case host, contentLength, requestID, connection
            /// Changes where the request ends, or what may follow it.
            case other
        }

        private let name: Range<Int>
        /// The range of the value, without leading spaces and tabs.
        let value: Range<Int>

        init?(_ bytes: Span<UInt8>, _ line: Range<Int>) {
            guard let colon = line.first(where: { !Self.isToken(bytes[$0]) }), bytes[colon] == UInt8(ascii: ":"),
                colon > line.lowerBound
            else { return nil }
            name = line.lowerBound..<colon
            var value = colon + 1..<line.upperBound
            while let first = value.first, Self.isSpace(bytes[first]) { value = value.dropFirst() }
            self.value = value
        }

        func known(_ bytes: Span<UInt8>) -> Known? {
            switch name.count {
            case 4 where equals(bytes, name, "host"): .host
            case 6 where equals(bytes, name, "expect"): .other
            case 7 where equals(bytes, name, "upgrade"): .other
            case 10 where equals(bytes, name, "connection"): .connection
            case 12 where equals(bytes, name, "x-request-id"): .requestID
            case 14 where equals(bytes, name, "content-length"): .contentLength
            // The decoder treats it as `Connection`.
            case 16 where equals(bytes, name, "proxy-connection"): .other
            case 17 where equals(bytes, name, "transfer-encoding"): .other
            default: nil
            }
        }

        /// The value as a decimal number of up to nine digits.
        func number(_ bytes: Span<UInt8>) -> Int? {
            guard 1...9 ~= value.count else { return nil }
            var number = 0
            for position in value {
                let digit = bytes[position]
                guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
                number = 10 * number + Int(digit - UInt8(ascii: "0"))
            }
            return number
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

        /// The subset of `tchar` (RFC 9110 §5.6.2) that field names in use are made of.
        private static func isToken(_ byte: UInt8) -> Bool {
            byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
    }
}
