/// The `traceparent` field of a request (W3C Trace Context): the trace that it is part of, and the caller's span.
///
/// ```
/// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
/// version      trace-id (16 bytes)     parent-id (8)  flags
/// ```
struct TraceParent: Hashable, Sendable {
    /// 32 hexadecimal digits, lower case.
    let traceID: String
    /// 16 hexadecimal digits, lower case: the caller's span.
    let parentID: String

    /// Several fields are ignored, as it is unknown which of them is the caller's.
    init?(fields: [String]) {
        guard fields.count == 1 else { return nil }
        self.init(fields[0])
    }

    /// - Returns: `nil` if malformed. An unknown version is read as §3.2.4 says: its first four parts are those of
    ///   version 00, and more may follow after a further `-`.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = Self.hexadecimal(bytes[0..<2]), version != "ff",
            let traceID = Self.hexadecimal(bytes[3..<35]), traceID.utf8.contains(where: { $0 != UInt8(ascii: "0") }),
            let parentID = Self.hexadecimal(bytes[36..<52]), parentID.utf8.contains(where: { $0 != UInt8(ascii: "0") }),
            Self.hexadecimal(bytes[53..<55]) != nil
        else { return nil }
        guard bytes.count == 55 || version != "00" && bytes[55] == UInt8(ascii: "-") else { return nil }
        self.traceID = traceID
        self.parentID = parentID
    }

    private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> String? {
        let isHexadecimal = digits.allSatisfy {
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
        }
        return isHexadecimal ? String(decoding: digits, as: UTF8.self) : nil
    }
}
