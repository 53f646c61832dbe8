package import Logging
import NIOCore
import NIOHTTP1
package import Primitives

/// A request that has arrived whole and has been matched to its route.
package struct Request: Sendable {
    /// The request id. The response carries it as `X-Request-Id`, and so do all log lines and audit events of the
    /// request.
    package var id: String { context.requestID }

    /// Whether a text has the form of one.
    package static func isID(_ text: String) -> Bool { RequestID.accepted(text) != nil }
    /// The address of the client, as trusted proxies report it.
    package let client: IPAddress
    /// The logger for handlers of this request.
    package let logger: Logger
    private let context: RequestContext
    private let connection: RequestTasks.Connection
    private let head: HTTPRequestHead
    private let content: ByteBuffer
    private let parameters: [(name: String, value: String)]
    /// The query as it came, without its question mark.
    package let queryText: Substring?
    /// As it came: nothing is decoded or normalised.
    package let path: String

    init(
        context: RequestContext, received: ReceivedRequest, on connection: RequestTasks.Connection,
        target: RequestTarget,
        parameters: [(name: String, value: String)],
        client: IPAddress, logger: Logger
    ) {
        self.context = context
        self.connection = connection
        self.client = client
        self.logger = logger
        self.head = received.head
        self.content = received.body
        self.parameters = parameters
        self.queryText = target.query
        self.path = String(target.path)
    }

    /// What was asked for, as it came: a path with its query, or an absolute URL (RFC 9112 §3.2).
    package var target: String { head.uri }

    /// The value of a header field; of several fields with this name, the first.
    package func header(_ name: String) -> String? { head.headers.first(name: name) }

    /// The values of all header fields with this name.
    package func headers(_ name: String) -> [String] { head.headers[name] }

    /// Whether the connection is open, the peer's side of it too; for what waits for long before it answers.
    @Sendable package func hasPeer() async -> Bool {
        do { try await connection.requirePeer() } catch { return false }
        return true
    }

    /// Whether the client asks for HTML by name, as a browser does for what it shows.
    package var acceptsHTML: Bool {
        headers("Accept").flatMap { $0.split(separator: ",") }.contains { range in
            MediaType.matches(String(range.prefix { $0 != ";" }), "text/html")
        }
    }

    /// Whether the method is HEAD, which the route of GET answers: it must have no effect (RFC 9110 §9.2.1).
    package var isHead: Bool { head.method == .HEAD }

    /// Whether the method is one that changes nothing (RFC 9110 §9.2.1).
    package var isSafe: Bool { head.method == .GET || head.method == .HEAD }

    /// The value of a path parameter of the template.
    ///
    /// - Throws: 404 when `parse` returns `nil`: to a client, a malformed id is one that does not exist.
    package func parameter<Value>(_ name: String, as parse: (String) -> Value?) throws(Problem) -> Value {
        guard let text = parameters.first(where: { $0.name == name })?.value, let value = parse(text) else {
            throw Problem(.notFound)
        }
        return value
    }

    /// The bytes of the body, of any media type.
    package var body: [UInt8] { Array(content.readableBytesView) }

    /// The bytes of a body of this media type.
    ///
    /// - Throws: 415 for another type, more than one, none, or any content coding; 400 when there is no body at all.
    package func body(as mediaType: String) throws(Problem) -> [UInt8] {
        guard content.readableBytes > 0 else { throw Problem(.invalidRequest, detail: "A body is required.") }
        let types = head.headers["Content-Type"]
        guard types.count == 1, MediaType.matches(types[0], mediaType) else { throw Problem(.unsupportedMediaType) }
        guard head.headers["Content-Encoding"].allSatisfy({ $0.lowercased() == "identity" }) else {
            throw Problem(.unsupportedMediaType)
        }
        return body
    }

    /// Records the email of the person that the request is about, for its log line; see ``PersonalText``.
    package func note(email: String?) { context.email = email }

    /// The credential of `Authorization`.
    package var bearer: Bearer { Bearer(head.headers["Authorization"]) }
}
