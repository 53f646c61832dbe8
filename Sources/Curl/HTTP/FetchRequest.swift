package import Primitives

/// One HTTP request, complete before it is sent.
package struct FetchRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    package var method: Method
    /// An absolute URL in ASCII: `https`, or `http` when the host is this machine or `allowsHTTP` says so.
    package var url: String
    /// Header fields, sent unchanged. Those that frame the message (`Host`, `Content-Length` and the like) are refused.
    package var headers: [(name: String, value: String)]
    /// Sent with POST alone.
    package var body: [UInt8]?
    /// The timeout of the whole request: waiting to be in flight, resolving, connecting, sending and receiving.
    package var timeout: Duration
    /// The timeout of resolving, connecting and the TLS handshake.
    package var connectTimeout: Duration
    /// The most bytes of the response's body as received: content codings are neither asked for nor undone.
    package var maximumBodyBytes: Int
    /// Whether `http` may go beyond loopback: to an address that this machine listens at itself.
    package var allowsHTTP = false
    /// Whether a connection may go to an address: asked for that of the connection itself, so that no name gets around it.
    /// A connection that is kept is not asked about again: the requests of a fetcher have one rule, or none.
    package var accepts: (@Sendable (IPAddress) -> Bool)?
    /// Whether a body that is too large, breaks off or doesn't end in time is cut off, and the response good for all else.
    package var truncatesBody = false

    package init(
        _ method: Method = .get, url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        timeout: Duration = .seconds(5), connectTimeout: Duration = .seconds(3), maximumBodyBytes: Int = 65_536
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// A POST of `application/x-www-form-urlencoded` that asks for JSON, as token endpoints expect it.
    package static func form(url: String, fields: [(String, String)]) -> FetchRequest {
        let pairs = fields.map { PercentEncoding.encode($0) + "=" + PercentEncoding.encode($1) }
        return FetchRequest(
            .post, url: url,
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")],
            body: Array(pairs.joined(separator: "&").utf8))
    }
}
