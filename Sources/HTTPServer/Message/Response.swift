package import JSON

/// The response of a route. Headers that every response carries are added when it is encoded.
package struct Response: Sendable {
    /// Writes the body of a response, with as much in memory as the peer has yet to read. When it throws, the connection
    /// is reset, so that what was sent doesn't look whole.
    package typealias Stream = @Sendable (BodyWriter) async throws -> Void

    /// Whether caches may store a response.
    package enum Caching: Sendable, Equatable {
        case noStore
        /// `public, max-age=…`, in seconds: for documents that are the same for every client.
        case shared(seconds: Int)
    }

    package var status: Status
    package var contentType: String?
    package var body: [UInt8]
    /// Makes the body while it is sent; then `body` is empty.
    package private(set) var stream: Stream?
    package var caching: Caching
    /// Further header fields, never those that every response carries.
    package var headers: [(name: String, value: String)] = []
    /// What the body, which is no problem's JSON, says in its own words: for the log line and the metrics.
    package var problem: Problem?

    package init(_ status: Status, contentType: String? = nil, body: [UInt8] = [], caching: Caching = .noStore) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.caching = caching
    }

    /// A JSON object whose members are what `write` writes.
    package static func json(
        _ status: Status = .ok, caching: Caching = .noStore, _ write: (inout JSONWriter) -> Void
    ) -> Response {
        Response(status, contentType: "application/json", body: JSONWriter.object(write), caching: caching)
    }

    /// A response whose body is made while it is sent, and so has no bound. Its request holds its permit until the end.
    package static func streamed(contentType: String, _ stream: @escaping Stream) -> Response {
        var response = Response(.ok, contentType: contentType)
        response.stream = stream
        return response
    }

    /// A page.
    package static func html(_ status: Status, _ body: [UInt8]) -> Response {
        Response(status, contentType: "text/html; charset=utf-8", body: body)
    }

    /// Sends the client on by GET, whatever the method of its request (RFC 9110 §15.4.4).
    ///
    /// - Parameter location: an absolute URL, or a path of ours.
    package static func redirect(to location: String) -> Response {
        var response = Response(.seeOther)
        response.headers.append(("Location", location))
        return response
    }

    /// A response without a body.
    package static func empty(_ status: Status = .noContent) -> Response { Response(status) }
}
