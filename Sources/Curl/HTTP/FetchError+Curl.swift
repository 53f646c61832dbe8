import CCurl

extension FetchError.Code {
    /// Maps libcurl's hundred codes to the few that callers distinguish.
    init(_ status: CURLcode, requestSent: Bool) {
        switch status {
        case CURLE_URL_MALFORMAT: self = .invalidURL
        // Before the request: a scheme outside the list. After it: an answer in HTTP/0.9.
        case CURLE_UNSUPPORTED_PROTOCOL: self = requestSent ? .other : .protocolRefused
        case CURLE_COULDNT_RESOLVE_HOST: self = .resolve
        case CURLE_COULDNT_CONNECT: self = .connect
        case CURLE_OPERATION_TIMEDOUT: self = .timedOut
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            self = .tls
        // The second is how libcurl reports a header line beyond its own limit of 100 KB.
        case CURLE_FILESIZE_EXCEEDED, CURLE_OUT_OF_MEMORY: self = .tooLarge
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND,
            CURLE_HTTP2, CURLE_HTTP2_STREAM:
            self = .closed
        default: self = .other
        }
    }
}
