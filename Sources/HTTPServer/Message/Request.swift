package import Logging
import NIOCore
import NIOHTTP1

/// A request that has arrived whole and has been matched to its route.
package struct Request: Sendable {
    /// The answer carries it as `X-Request-Id`; whatever is logged or audited about the request carries it too.
    package var id: String { context.requestID }
    /// Whoever sent the request, as far as the proxies that we trust can tell.
    package let client: ClientAddress
    /// For what a handler has to say about this request.
    package let logger: Logger
    private let context: RequestContext
    private let head: HTTPRequestHead
    private let content: ByteBuffer
    private let parameters: [(name: String, value: String)]
    let queryText: Substring?

    init(
        context: RequestContext, received: ReceivedRequest, target: RequestTarget,
        parameters: [(name: String, value: String)],
        client: ClientAddress, logger: Logger
    ) {
        self.context = context
        self.client = client
        self.logger = logger
        self.head = received.head
        self.content = received.body
        self.parameters = parameters
        self.queryText = target.query
    }

    /// The value of a header field; of several fields with this name, the first.
    package func header(_ name: String) -> String? {
        head.headers.first(name: name)
    }

    /// What stands in the path in place of a parameter of the template.
    ///
    /// - Throws: 404 when it is not of the form that `parse` reads; for a client, an id that can't be is one that isn't.
    package func parameter<Value>(_ name: String, as parse: (String) -> Value?) throws(Problem) -> Value {
        guard let text = parameters.first(where: { $0.name == name })?.value, let value = parse(text) else {
            throw Problem(.notFound)
        }
        return value
    }

    /// The bytes of the body, whatever they are.
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

    /// Notes whom the request is about, for its log line; see ``PersonalText``.
    package func note(email: String?) { context.email = email }

    /// What `Authorization` says.
    package var bearer: Bearer { Bearer(head.headers["Authorization"]) }
}
