import CCurl

/// A validated URL in libcurl's parsed form. The transfer is given this very handle, so no second parser can read
/// another host out of the same text.
@safe
struct RequestURL: ~Copyable {
    let handle: OpaquePointer

    private init() throws(FetchError) {
        guard let handle = unsafe curl_url() else { throw FetchError(.other, detail: "curl_url") }
        unsafe self.handle = handle
    }

    deinit { unsafe curl_url_cleanup(handle) }

    /// A URL of any protocol that libcurl knows. Throws `invalidURL` or `protocolRefused`.
    static func parse(anyProtocol text: String, flags: Int32 = 0) throws(FetchError) -> RequestURL {
        // Printable ASCII only. A backslash is the one printable that URL parsers are known to disagree about.
        guard !text.isEmpty, text.utf8.count <= 8_192,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { throw FetchError(.invalidURL, detail: "not printable ASCII") }
        let url = try RequestURL()
        let status = unsafe text.withCString { unsafe curl_url_set(url.handle, CURLUPART_URL, $0, UInt32(flags)) }
        guard status == CURLUE_OK else {
            let code: FetchError.Code = status == CURLUE_UNSUPPORTED_SCHEME ? .protocolRefused : .invalidURL
            throw FetchError(code, detail: unsafe String(cString: curl_url_strerror(status)))
        }
        return url
    }

    /// A URL for a request. Throws `invalidURL` or `protocolRefused`.
    static func parse(_ text: String, allowsHTTP: Bool = false) throws(FetchError) -> RequestURL {
        let url = try parse(anyProtocol: text, flags: CURLU_DISALLOW_USER)
        switch url.part(CURLUPART_SCHEME) {
        case "https": break
        case "http":
            guard allowsHTTP || url.isLoopback else {
                throw FetchError(.protocolRefused, detail: "http to another machine")
            }
        default: throw FetchError(.protocolRefused, detail: "neither https nor http")
        }
        return url
    }

    var isEncrypted: Bool { part(CURLUPART_SCHEME) == "https" }

    /// A part of the URL; empty for one that is absent or decodes to control characters.
    func part(_ part: CURLUPart, flags: Int32 = 0) -> String {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK, let text = unsafe text else {
            return ""
        }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }

    func remove(_ part: CURLUPart) { unsafe curl_url_set(handle, part, nil, 0) }

    /// Whether the host is this machine. libcurl has already normalized every form of an IPv4 address to four decimal
    /// parts, and it never asks a name server for `localhost`.
    var isLoopback: Bool {
        let host = part(CURLUPART_HOST)
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
        return host.isEqualWithoutCase(to: "localhost") || host == "[::1]" || (isAddress && parts[0] == "127")
    }
}
