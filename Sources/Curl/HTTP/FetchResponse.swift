import CCurl
import Primitives

/// A complete response. Redirects are responses like any other: nothing is followed.
package struct FetchResponse: Sendable {
    package let status: Int
    package let headers: FetchHeaders
    /// The body as received: chunks are joined, a content coding (gzip and the like) is not undone.
    package let body: [UInt8]

    package init(status: Int, headers: FetchHeaders = FetchHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The seconds that the server asks to wait for, by `Retry-After` (RFC 9110 §10.2.3): a number or a date.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: 0 without one, negative for a date that has passed.
    package func retryAfter(at now: Int64) -> Int64 {
        guard let text = headers.first("Retry-After") else { return 0 }
        if let seconds = Int64(text) { return seconds }
        let date = unsafe curl_getdate(text, nil)
        return date == -1 ? 0 : Int64(date) - now
    }
}

/// The header fields of a response in the order of arrival.
package struct FetchHeaders: Sendable {
    package private(set) var fields: [(name: String, value: String)] = []

    package init() {}

    /// The value of the first field with this name; names compare as RFC 9110 §5.1 says, without case.
    package func first(_ name: String) -> String? { all(name).first }

    /// The values of every field with this name, in order: a list may be spread over several (RFC 9110 §5.3).
    package func all(_ name: String) -> [String] { fields.filter { $0.name.isEqualWithoutCase(to: name) }.map(\.value) }

    /// Appends one line as libcurl passes it; a line without a colon is no field and is dropped.
    mutating func append(line: [UInt8]) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return }
        func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
            let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
            let start = bytes.drop(while: isSpace)
            let end = start.lastIndex { !isSpace($0) } ?? start.startIndex - 1
            return String(decoding: start[start.startIndex..<(end + 1)], as: UTF8.self)
        }
        fields.append((trimmed(line[..<colon]), trimmed(line[(colon + 1)...])))
    }
}

extension String {
    /// ASCII letters alone lose their case: Unicode folding would make `K` (U+212A) a `k`.
    func isEqualWithoutCase(to other: String) -> Bool { utf8.equalsIgnoringASCIICase(other.utf8) }
}
