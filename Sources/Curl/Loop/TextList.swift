import CCurl
import Primitives

/// A libcurl string list (`curl_slist`): header lines, recipients.
@safe
struct TextList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    init() { unsafe first = nil }

    deinit { unsafe curl_slist_free_all(first) }

    /// Adds a header field.
    ///
    /// Throws `invalidHeader` for a name that isn't a token (RFC 9110 §5.6.2), a value with control characters or
    /// beyond ASCII, and the fields by which a message is framed or routed: libcurl alone writes those.
    mutating func append(name: String, value: String) throws(FetchError) {
        let framing = [
            "host", "content-length", "transfer-encoding", "connection", "expect", "te", "upgrade", "trailer",
        ]
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenCharacter),
            !framing.contains(where: { $0.isEqualWithoutCase(to: name) }),
            value.utf8.allSatisfy({ $0 == 0x09 || (0x20...0x7E).contains($0) })
        else { throw FetchError(.invalidHeader, detail: "a header field was refused") }
        // To libcurl, `name:` means to leave this field out. `name;` is its notation for an empty value.
        let isEmpty = value.utf8.allSatisfy { $0 == 0x09 || $0 == 0x20 }
        try append(isEmpty ? "\(name);" : "\(name): \(value)")
    }

    mutating func append(_ text: String) throws(FetchError) {
        guard let list = unsafe text.withCString({ unsafe curl_slist_append(first, $0) }) else {
            throw FetchError(.other, detail: "curl_slist_append")
        }
        unsafe first = list
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}
