/// Why a request got no response. `description` is a fixed sentence; only `debugDescription` may name a host.
package struct FetchError: Error, Sendable, Equatable {
    /// Its raw value is for records, logs and operators.
    package enum Code: String, Sendable, CaseIterable {
        /// Not a URL that we send to: malformed, not ASCII, with control characters or with a user name.
        case invalidURL = "invalid_url"
        /// A header that could break the framing of the request.
        case invalidHeader = "invalid_header"
        /// Neither https nor http to this machine.
        case protocolRefused = "protocol_refused"
        /// Every address of the host is one that the request may not go to.
        case addressRefused = "address_refused"
        case resolve
        case connect
        /// No handshake, or a certificate that doesn't prove the host.
        case tls
        /// The timeout of the whole request, or that of connecting, passed while it was in flight.
        case timedOut = "timed_out"
        /// The response's headers or body exceeded their limit.
        case tooLarge = "too_large"
        /// The connection was lost before the response was complete.
        case closed
        /// The calling task was cancelled.
        case cancelled
        /// As many requests are in flight and waiting as the configuration allows, or were until its timeout passed.
        case busy
        /// The fetcher was shut down.
        case stopped
        /// The peer doesn't speak HTTP, or libcurl failed in a way that has no other name here.
        case other
    }

    package let code: Code

    /// Whether bytes of the request may have reached the peer. A request that isn't safe to repeat (RFC 9110 §9.2.2)
    /// may be sent again only if this is false.
    package let requestSent: Bool

    /// libcurl's text for the error.
    package let detail: String

    /// The place in the source where the error was made, `file:line`.
    package let location: String

    package init(
        _ code: Code, requestSent: Bool = false, detail: String = "", file: StaticString = #fileID, line: UInt = #line
    ) {
        self.code = code
        self.requestSent = requestSent
        self.detail = detail
        self.location = "\(file):\(line)"
    }

    package static func == (left: FetchError, right: FetchError) -> Bool {
        left.code == right.code && left.requestSent == right.requestSent
    }
}

extension FetchError: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "The outgoing request failed." }

    package var debugDescription: String {
        "FetchError(\(code.rawValue), requestSent: \(requestSent), \(detail.isEmpty ? "no detail" : detail), \(location))"
    }
}
