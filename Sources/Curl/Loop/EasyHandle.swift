import CCurl

/// One libcurl transfer handle.
@safe
struct EasyHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer

    /// libcurl's initialization, once per process; `static let` makes concurrent callers wait for the first.
    static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init() throws(FetchError) {
        guard Self.libraryIsReady, let pointer = unsafe curl_easy_init() else {
            throw FetchError(.other, detail: "curl_easy_init")
        }
        unsafe self.pointer = pointer
    }

    deinit { unsafe curl_easy_cleanup(pointer) }

    func set(_ option: CURLoption, _ value: Int) throws(FetchError) {
        try check(unsafe ccurl_easy_set_long(pointer, option, value))
    }

    func set(_ option: CURLoption, offset value: Int) throws(FetchError) {
        try check(unsafe ccurl_easy_set_offset(pointer, option, curl_off_t(value)))
    }

    func set(_ option: CURLoption, milliseconds duration: Duration) throws(FetchError) {
        let (seconds, attoseconds) = duration.components
        // Zero would mean "no limit" to libcurl.
        let value = min(max(seconds, 0), 86_400) * 1_000 + max(1, attoseconds / 1_000_000_000_000_000)
        try set(option, Int(value))
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

    /// Asked for each connection, whose address lives as long as the call alone.
    @unsafe
    func set(socketCallback: @escaping ccurl_socket_callback) throws(FetchError) {
        try check(unsafe ccurl_easy_set_socket_callback(pointer, socketCallback))
    }

    /// Called once a second at least, whatever the transfer waits for. Another result than 0 aborts it.
    @unsafe
    func set(progressCallback: @escaping curl_xferinfo_callback) throws(FetchError) {
        try check(unsafe ccurl_easy_set_progress_callback(pointer, progressCallback))
        try set(CURLOPT_NOPROGRESS, 0)
    }

    /// libcurl keeps the handle: it must outlive this one.
    func set(url: borrowing RequestURL) throws(FetchError) { try check(unsafe ccurl_easy_set_url(pointer, url.handle)) }

    /// libcurl keeps the list: it must outlive this handle.
    func set(_ option: CURLoption, _ list: borrowing TextList) throws(FetchError) {
        try check(unsafe ccurl_easy_set_list(pointer, option, list.first))
    }

    /// Makes the transfer independent of the environment and the files of the machine, and the thread of signals and of
    /// a slow resolver.
    func isolate() throws(FetchError) {
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        // Empty rather than absent: absent means "ask the environment".
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOSIGNAL, 1)
        // Without it, ending a transfer that still resolves its host blocks the thread, and all its transfers, until
        // the resolver gives up.
        try set(CURLOPT_QUICK_EXIT, 1)
    }

    /// Requires TLS peers to prove the requested host by their certificate, and TLS 1.2 at least.
    ///
    /// - Parameter caBundlePath: a PEM file of trusted certificates in place of the system's.
    func verifyPeer(trusting caBundlePath: String?) throws(FetchError) {
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        guard let caBundlePath else { return }
        try set(CURLOPT_CAINFO, caBundlePath)
        try clear(CURLOPT_CAPATH)
    }

    /// Runs the transfer to its end on this thread, blocking it.
    func perform() -> CURLcode { unsafe curl_easy_perform(pointer) }

    func number(_ item: CURLINFO) -> Int {
        var value = 0
        return unsafe ccurl_easy_get_long(pointer, item, &value) == CURLE_OK ? value : 0
    }

    /// The socket of the connection that was used last; nil when that is closed.
    var socket: Int32? {
        var socket: curl_socket_t = -1
        let status = unsafe ccurl_easy_get_socket(pointer, &socket)
        return status == CURLE_OK && socket >= 0 ? socket : nil
    }

    private func check(_ status: CURLcode, line: UInt = #line) throws(FetchError) {
        guard status == CURLE_OK else {
            throw FetchError(.other, detail: unsafe String(cString: curl_easy_strerror(status)), line: line)
        }
    }
}
