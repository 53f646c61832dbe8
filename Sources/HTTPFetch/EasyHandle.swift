import CCurl

/// One libcurl transfer handle.
@safe
struct EasyHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer

    init() throws(FetchError) {
        guard let pointer = unsafe curl_easy_init() else { throw FetchError(.other, detail: "curl_easy_init") }
        unsafe self.pointer = pointer
    }

    deinit { unsafe curl_easy_cleanup(pointer) }

    func set(_ option: CURLoption, _ value: Int) throws(FetchError) {
        try check(unsafe ccurl_easy_set_long(pointer, option, value))
    }

    func set(_ option: CURLoption, offset value: Int) throws(FetchError) {
        try check(unsafe ccurl_easy_set_offset(pointer, option, curl_off_t(value)))
    }

    /// libcurl copies the text.
    func set(_ option: CURLoption, _ value: String) throws(FetchError) {
        try check(unsafe value.withCString { unsafe ccurl_easy_set_string(pointer, option, $0) })
    }

    func clear(_ option: CURLoption) throws(FetchError) {
        try check(unsafe ccurl_easy_set_string(pointer, option, nil))
    }

    /// libcurl keeps the pointer: what it points to must outlive this handle.
    @unsafe
    func set(_ option: CURLoption, context: UnsafeMutableRawPointer) throws(FetchError) {
        try check(unsafe ccurl_easy_set_pointer(pointer, option, context))
    }

    /// `bytes` and `context` of the callback live as long as the call alone.
    @unsafe
    func set(_ option: CURLoption, callback: @escaping ccurl_byte_callback) throws(FetchError) {
        try check(unsafe ccurl_easy_set_callback(pointer, option, callback))
    }

    /// libcurl keeps the handle: it must outlive this one.
    func set(url: borrowing RequestURL) throws(FetchError) {
        try check(unsafe ccurl_easy_set_url(pointer, url.handle))
    }

    /// libcurl keeps the list: it must outlive this handle.
    func set(headers: borrowing HeaderList) throws(FetchError) {
        try check(unsafe ccurl_easy_set_list(pointer, CURLOPT_HTTPHEADER, headers.first))
    }

    func number(_ item: CURLINFO) -> Int {
        var value = 0
        return unsafe ccurl_easy_get_long(pointer, item, &value) == CURLE_OK ? value : 0
    }

    private func check(_ status: CURLcode, line: UInt = #line) throws(FetchError) {
        guard status == CURLE_OK else {
            throw FetchError(.other, detail: unsafe String(cString: curl_easy_strerror(status)), line: line)
        }
    }
}

/// The request's own header lines.
@safe
struct HeaderList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    init() {
        unsafe first = nil
    }

    deinit { unsafe curl_slist_free_all(first) }

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
        // `name:` would mean to libcurl: leave this field out. `name;` is its spelling of an empty value.
        let isEmpty = value.utf8.allSatisfy { $0 == 0x09 || $0 == 0x20 }
        try append(line: isEmpty ? "\(name);" : "\(name): \(value)")
    }

    mutating func append(line: String) throws(FetchError) {
        guard let list = unsafe line.withCString({ unsafe curl_slist_append(first, $0) }) else {
            throw FetchError(.other, detail: "curl_slist_append")
        }
        unsafe first = list
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
