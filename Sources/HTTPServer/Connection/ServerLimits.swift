/// The limits of one request, one connection and one listener.
///
/// The defaults are the service's values; tests shorten the deadlines.
package struct ServerLimits: Sendable {
    // MARK: One request

    /// Header fields of one request, trailers included.
    package var headerFields = 100
    /// Bytes of the request target, the names and the values together.
    package var headerBytes = 16 * 1024
    /// Bytes of the request target alone.
    package var targetBytes = 8 * 1024
    /// Bytes of a body. A longer one is rejected with 413.
    package var bodyBytes = 64 * 1024
    /// Bytes in which a body may arrive, with the sizes and extensions of its chunks (RFC 9112 §7.1.1), which count for
    /// nothing else: eight times the body.
    package var framedBodyBytes: Int { 8 * bodyBytes }
    /// Bytes that are read and dropped after a rejection. A client that writes its whole body before it reads would
    /// otherwise get a connection reset instead of the response (RFC 9112 §9.6).
    package var discardedBytes = 1024 * 1024

    // MARK: One connection

    /// From the opening of the connection, or the first byte of a later request, to the end of its header section.
    package var headerDeadline: Duration = .seconds(10)
    /// From the end of the header section to the end of the body.
    package var bodyDeadline: Duration = .seconds(10)
    /// Between a response and the first byte of the next request. Proxies such as nginx keep an idle connection for 60 s, and
    /// have to close it first: a request that is just on its way to a closed one is lost.
    package var idleDeadline: Duration = .seconds(75)
    /// For the peer to receive one response, or one part of a response that is streamed.
    package var writeDeadline: Duration = .seconds(30)
    /// Silence of a peer that has its last response and has not closed the connection.
    package var lingerDeadline: Duration = .seconds(2)
    /// Unanswered requests of one connection; after the last of them the connection is closed.
    package var pipelinedRequests = 32

    // MARK: One listener

    /// Open connections; more wait in the accept queue of the kernel.
    package var connections = 2048
    /// Of them those of one network, an IPv4 /24 or an IPv6 /64; 0 for no share. Trusted proxies have none. A /16 or /48
    /// may have twice as many.
    package var connectionsPerNetwork = 256
    /// Requests whose header section has come and whose body is on its way. Of one network as many as a quarter of its
    /// share of the connections, behind a proxy too.
    package var bodies = 512
    /// Permits for requests being handled. Requests that read are answered 503 when half of the permits are held,
    /// sign-ins when three quarters are, requests that take access away when all are. 64 at once keep a core and
    /// PostgreSQL busy; the others are for requests that wait for a provider, and more would only wait longer. Of one
    /// network half of them, and of a /16 or /48 five eighths, where networks have a share of the connections.
    package var concurrentRequests = 256
    /// From the last byte of a request to the beginning of its handling. A request that an overloaded machine gets to
    /// later is answered 503: its client may have given up, and the clients of later requests have not.
    package var queueTimeout: Duration = .seconds(2)

    package init() {}
}
