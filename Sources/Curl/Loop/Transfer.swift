import CCurl
import Primitives

/// One request in libcurl, and what has been received of its response so far.
///
/// Sendable because it has one owner at a time: the caller builds it and hands it over through the loop's mutex; from
/// then on the loop's thread alone touches it, libcurl's callbacks included.
@safe
final class Transfer: @unchecked Sendable {
    typealias Outcome = Result<FetchResponse, FetchError>

    let deadline: ContinuousClock.Instant

    private let easy: EasyHandle
    // libcurl reads these two while the transfer runs, no longer when its handle is cleaned up.
    private let url: RequestURL
    private let headerLines: TextList

    private let requestBody: [UInt8]
    private var bodyBytesOffered = 0

    private let maximumBodyBytes: Int
    private var headerBytesLeft: Int
    private var headers = FetchHeaders()
    private var headersAreComplete = false
    private var body: [UInt8] = []
    private var isTooLarge = false
    private let truncatesBody: Bool
    private let accepts: (@Sendable (IPAddress) -> Bool)?
    private var isAddressRefused = false

    private var continuation: CheckedContinuation<Outcome, Never>?

    init(_ request: FetchRequest, configuration: CurlFetcher.Configuration) throws(FetchError) {
        deadline = .now.advanced(by: request.timeout)
        url = try RequestURL.parse(request.url, allowsHTTP: request.allowsHTTP)
        var lines = TextList()
        for (name, value) in request.headers { try lines.append(name: name, value: value) }
        // Otherwise libcurl waits up to a second for "100 Continue" before it sends a body of more than a megabyte.
        try lines.append("Expect:")
        headerLines = lines
        requestBody = request.method == .post ? request.body ?? [] : []
        maximumBodyBytes = max(0, request.maximumBodyBytes)
        truncatesBody = request.truncatesBody
        accepts = request.accepts
        headerBytesLeft = configuration.maximumHeaderBytes
        easy = try EasyHandle()

        try restrict(configuration)
        try easy.set(url: url)
        try easy.set(CURLOPT_HTTPHEADER, headerLines)
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds: min(request.connectTimeout, request.timeout))
        try setMethod(request.method)
        try installCallbacks()
    }

    @unsafe
    var handle: UnsafeMutableRawPointer { unsafe easy.pointer }

    /// The identity by which libcurl reports this transfer: the address of its handle.
    var id: UInt { unsafe UInt(bitPattern: easy.pointer) }

    /// Host and port.
    var host: String { "\(url.part(CURLUPART_HOST)):\(url.part(CURLUPART_PORT, flags: CURLU_DEFAULT_PORT))" }

    /// Has its connection closed once no transfer is on it: libcurl ends a stream of HTTP/2 that is given up, and goes on
    /// using a connection that may be dead.
    func abandonConnection() { try? easy.set(CURLOPT_FORBID_REUSE, 1) }

    /// Has it make one of its own.
    func connectByItself() { try? easy.set(CURLOPT_FRESH_CONNECT, 1) }

    func answer(to continuation: CheckedContinuation<Outcome, Never>) { self.continuation = continuation }

    // MARK: Set-up

    /// Restricts what the request may do: libcurl supports more protocols, and reads more environment variables and
    /// files, than a backend needs.
    private func restrict(_ configuration: CurlFetcher.Configuration) throws(FetchError) {
        let scheme = url.isEncrypted ? "https" : "http"
        try easy.set(CURLOPT_PROTOCOLS_STR, scheme)
        try easy.set(CURLOPT_REDIR_PROTOCOLS_STR, scheme)
        try easy.set(CURLOPT_FOLLOWLOCATION, 0)
        try easy.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        try easy.isolate()
        // Neither asked for nor undone, so a small body can't become a large one behind the limit's back.
        try easy.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        try easy.set(CURLOPT_HTTP09_ALLOWED, 0)
        try easy.set(CURLOPT_USERAGENT, configuration.userAgent)

        if url.isEncrypted {
            try easy.verifyPeer(trusting: configuration.caBundlePath)
            try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            // A burst waits for the first handshake and shares its connection instead of opening one for each.
            try easy.set(CURLOPT_PIPEWAIT, 1)
        } else {
            try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        }
    }

    private func setMethod(_ method: FetchRequest.Method) throws(FetchError) {
        switch method {
        case .get: try easy.set(CURLOPT_HTTPGET, 1)
        case .post:
            try easy.set(CURLOPT_POST, 1)
            try easy.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: requestBody.count)
            // A callback that can't be rewound: when a kept connection turns out dead, libcurl repeats the request
            // on a new one, and this keeps it from repeating a body that the peer may have acted on.
            try unsafe easy.set(CURLOPT_READFUNCTION) { bytes, size, count, context in
                unsafe Transfer.from(context).offer(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            }
        }
    }

    /// The context is unretained: the loop holds the transfer for as long as its handle is in the multi handle.
    private func installCallbacks() throws(FetchError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try unsafe easy.set(CURLOPT_READDATA, context: context)
        try unsafe easy.set(CURLOPT_HEADERDATA, context: context)
        try unsafe easy.set(CURLOPT_WRITEDATA, context: context)
        if accepts != nil {
            try unsafe easy.set(CURLOPT_OPENSOCKETDATA, context: context)
            try unsafe easy.set(socketCallback: { context, _, address in
                unsafe Transfer.from(context).open(address)
            })
        }
        try unsafe easy.set(CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            unsafe Transfer.from(context).takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        try unsafe easy.set(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            unsafe Transfer.from(context).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
    }

    @unsafe
    private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer {
        guard let context = unsafe context else { fatalError("libcurl lost the context that it was given") }
        return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: libcurl's callbacks; a count that differs from what was offered makes libcurl abort the transfer

    @unsafe
    private func offer(_ space: UnsafeMutableRawBufferPointer) -> Int {
        let slice = requestBody[bodyBytesOffered...].prefix(space.count)
        unsafe space.copyBytes(from: slice)
        bodyBytesOffered += slice.count
        return slice.count
    }

    @unsafe
    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
        var octets = [UInt8](repeating: 0, count: 16)
        guard let address = unsafe address, unsafe ccurl_octets(address, &octets) == 1,
            accepts?(IPAddress(octets: octets)) == true
        else {
            isAddressRefused = true
            return -1
        }
        return unsafe ccurl_open_socket(address)
    }

    @unsafe
    private func takeHeader(_ line: UnsafeRawBufferPointer) -> Int {
        headerBytesLeft -= line.count
        guard headerBytesLeft >= 0 else {
            isTooLarge = true
            return 0
        }
        let bytes = unsafe Array(line)
        if bytes.starts(with: "HTTP/".utf8) {
            // The status line, again after each interim response (RFC 9110 §15.2), whose fields mean nothing here.
            headers = FetchHeaders()
            headersAreComplete = false
        } else if bytes.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) {
            headersAreComplete = true
        } else if !headersAreComplete {
            headers.append(line: bytes)
        }  // else a trailer: counted, but not merged into the headers (RFC 9110 §6.5.1)
        return line.count
    }

    @unsafe
    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard bytes.count <= maximumBodyBytes - body.count else {
            isTooLarge = true
            return 0
        }
        unsafe body.append(contentsOf: bytes)
        return bytes.count
    }

    // MARK: Completion; the handle must have been removed from the multi handle before

    func finish(_ status: CURLcode) {
        guard status == CURLE_OK && !isTooLarge || isEnough else {
            var code = isTooLarge ? .tooLarge : FetchError.Code(status, requestSent: requestSent)
            if isAddressRefused, code == .connect { code = .addressRefused }
            return fail(code, detail: unsafe String(cString: curl_easy_strerror(status)))
        }
        // libcurl takes a connection that ends within the header lines for a response without a body.
        guard headersAreComplete else { return fail(.closed, detail: "the headers were cut off") }
        succeed()
    }

    func expire() { if isEnough { succeed() } else { fail(.timedOut) } }

    private func succeed() {
        resume(.success(FetchResponse(status: easy.number(CURLINFO_RESPONSE_CODE), headers: headers, body: body)))
    }

    func fail(_ code: FetchError.Code, detail: String = "") {
        resume(.failure(FetchError(code, requestSent: requestSent, detail: detail)))
    }

    /// Whether what has come is a response, however its body ends: its headers, and not those of an interim one.
    private var isEnough: Bool { truncatesBody && headersAreComplete && easy.number(CURLINFO_RESPONSE_CODE) >= 200 }

    private var requestSent: Bool { bodyBytesOffered > 0 || easy.number(CURLINFO_REQUEST_SIZE) > 0 }

    private func resume(_ outcome: Outcome) {
        continuation?.resume(returning: outcome)
        continuation = nil
    }
}
