import NIOCore
import NIOHTTP1
import Primitives

/// A whole request, as the connection dispatches it.
struct ReceivedRequest: Sendable {
    let head: HTTPRequestHead
    var body: ByteBuffer
    /// Whether no other request can follow on this connection.
    var closes: Bool
    /// The time at which its last byte was seen.
    var arrival = ContinuousClock.now
    /// The route that it was admitted for on arrival, with the permit that it got and the client's address. `nil` behind other
    /// requests of its connection: then all are determined when those have been answered.
    var admitted: (route: RouteTable.Resolution, permit: Permit?, client: IPAddress)?
}

/// An event that a connection dispatches to its task. Each one is answered, in order.
///
/// In a box, since it is handed on from handler to task and has many references.
indirect enum InboundEvent: Sendable {
    case request(ReceivedRequest)
    /// Input that is no request, or a request that may not go on. The connection closes after the response.
    ///
    /// - Parameters:
    ///   - head: where it could be read.
    ///   - overload: where that is why.
    case rejection(Problem, head: HTTPRequestHead?, overload: Overload? = nil)
}

/// The assembly of a request from its parts, which rejects what may not go on. It knows no channel and no deadline.
///
/// The decoder is llhttp in its strict mode: it rejects bare LF and CR, folded lines, white space before a colon,
/// control characters, a second `Content-Length` and one beside `Transfer-Encoding`, every malformed chunk, and every
/// version but 1.0 and 1.1. What it accepts and this service does not is checked here.
struct RequestAssembly {
    enum Step {
        case incomplete
        /// More parts are to come once the client has received 100 Continue (RFC 9110 §10.1.1).
        case awaitingContinue
        case complete(ReceivedRequest)
        /// Nothing after this can be read as a request.
        case rejected(Problem, HTTPRequestHead)
    }

    private let limits: ServerLimits
    private var partial: ReceivedRequest?

    init(limits: ServerLimits) { self.limits = limits }

    /// Whether a header section has come, and its body not yet or not all of it.
    var isReceivingBody: Bool { partial != nil }

    /// Drops the request whose body is being received.
    mutating func abandon() { partial = nil }

    /// The head of the request whose body is being received.
    var head: HTTPRequestHead? { partial?.head }

    mutating func receive(_ part: HTTPServerRequestPart) -> Step {
        switch part {
        case .head(let head): return begin(head)
        case .body(let bytes): return append(bytes)
        case .end:
            guard var request = partial.take() else { return .incomplete }
            request.arrival = .now
            return .complete(request)
        }
    }

    private mutating func begin(_ head: HTTPRequestHead) -> Step {
        if let fault = Self.fault(in: head, limits: limits) { return .rejected(fault, head) }
        partial = ReceivedRequest(head: head, body: ByteBuffer(), closes: Self.endsConnection(head))
        if head.version.minor == 1, head.headers.contains(name: "Expect"),
            head.headers["Expect"].contains(where: { $0.lowercased() == "100-continue" })
        {
            return .awaitingContinue
        }
        return .incomplete
    }

    private mutating func append(_ bytes: ByteBuffer) -> Step {
        guard var request = partial.take() else { return .incomplete }
        guard request.body.readableBytes + bytes.readableBytes <= limits.bodyBytes else {
            return .rejected(.bodyTooLarge, request.head)
        }
        if request.body.readableBytes == 0 {
            request.body = bytes
        } else {
            request.body.writeImmutableBuffer(bytes)
        }
        partial = request
        return .incomplete
    }

    /// HTTP/1.0 gets one request per connection: its persistence is an extension that proxies forward without
    /// understanding (RFC 9112 §9.3). After a request to upgrade or to connect, the decoder reads no further.
    private static func endsConnection(_ head: HTTPRequestHead) -> Bool {
        !head.isKeepAlive || head.version.minor == 0 || head.method == .CONNECT
            || head.headers.contains(name: "Upgrade")
    }

    private static func fault(in head: HTTPRequestHead, limits: ServerLimits) -> Problem? {
        if head.uri.utf8.count > limits.targetBytes { return .malformedRequest("The request target is too long.") }
        let hosts = head.headers["Host"]
        guard hosts.count <= 1, hosts.allSatisfy(isHost), head.version.minor == 0 || hosts.count == 1 else {
            return .malformedRequest("There has to be one Host.")
        }
        let codings = head.headers["Transfer-Encoding"]
        if !codings.isEmpty {
            guard codings.count == 1, codings[0].lowercased() == "chunked", head.version.minor == 1,
                !head.headers.contains(name: "Content-Length")
            else { return .malformedRequest("The only transfer coding is chunked.") }
        }
        if let length = head.headers.first(name: "Content-Length") {
            let digits = length.prefix { $0 != " " && $0 != "\t" }
            guard let count = Int(digits), count <= limits.bodyBytes else { return .bodyTooLarge }
        }
        return nil
    }

    private static func isHost(_ text: String) -> Bool { text.utf8.allSatisfy(isHostByte) }

    /// The characters of a host and a port (RFC 3986 §3.2); a browser may send an empty field.
    static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "["),
            UInt8(ascii: "]"):
            true
        default: byte.isASCIIAlphanumeric
        }
    }
}

extension Problem {
    /// The problem of input that is not HTTP/1.1 or exceeds the limits. One code for all of it: no client of this API
    /// gets here.
    static func malformedRequest(_ detail: String) -> Problem {
        var problem = Problem(.invalidRequest, detail: detail)
        problem.endsConnection = true
        return problem
    }

    static var bodyTooLarge: Problem {
        var problem = Problem(.payloadTooLarge)
        problem.endsConnection = true
        return problem
    }
}
