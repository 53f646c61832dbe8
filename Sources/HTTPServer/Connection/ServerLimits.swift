/// What one connection, one request and one listener may cost before they are cut off.
///
/// The defaults are what the service runs with; tests shorten the deadlines.
package struct ServerLimits: Sendable {
    // MARK: One request

    /// Header fields of one request, trailers included.
    package var headerFields = 100
    /// Bytes of the request target, the names and the values together.
    package var headerBytes = 16 * 1024
    /// Bytes of the request target alone.
    package var targetBytes = 4 * 1024
    /// Bytes of a body. A longer one is refused with 413.
    package var bodyBytes = 64 * 1024
    /// Bytes that are read and dropped after a refusal. A client that writes its whole body before it reads would otherwise
    /// meet a reset connection instead of the answer (RFC 9112 §9.6).
    package var discardedBytes = 1024 * 1024

    // MARK: One connection

    /// From the opening of the connection, or the first byte of a later request, to the end of its header section.
    package var headerDeadline: Duration = .seconds(10)
    /// From the end of the header section to the end of the body.
    package var bodyDeadline: Duration = .seconds(30)
    /// Between an answer and the first byte of the next request.
    package var idleDeadline: Duration = .seconds(60)
    /// For the peer to take one answer.
    package var writeDeadline: Duration = .seconds(30)
    /// Silence that is tolerated of a peer that has its last answer and has not closed the connection.
    package var lingerDeadline: Duration = .seconds(2)
    /// Requests of one connection that wait for their turn; after the last of them the connection is closed.
    package var pipelinedRequests = 32

    // MARK: One listener

    /// Open connections; more wait in the accept queue of the kernel.
    package var connections = 2048
    /// Places for requests being handled. Who reads is answered 503 when half of them are taken, who signs in when three
    /// quarters are, who takes access away when all are. 64 at once keep a core and PostgreSQL busy; the others are for those
    /// that wait for a provider, and more would only wait longer.
    package var concurrentRequests = 256
    /// From the last byte of a request to the beginning of its handling. A busy machine that gets to it later answers 503:
    /// whoever asked has perhaps given up, and those who came after have not.
    package var queueTimeout: Duration = .seconds(2)

    package init() {}
}
