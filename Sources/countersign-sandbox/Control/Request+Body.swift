import HTTPTypes
import Hummingbird
import JSON
import NIOCore

extension Request {
    /// The largest control request in bytes: enough for any key set or page that a fault is to answer with.
    static let maximumControlBytes = 1 << 20

    /// The body, a JSON object, as `read` reads it; an empty body is an empty object. The content type is ignored, so
    /// that `curl -d` works without a header.
    func body<Body: Sendable>(_ read: (ControlMembers) -> Body) async throws -> Body {
        var copy = self
        let body: ByteBuffer
        do {
            body = try await copy.collectBody(upTo: Self.maximumControlBytes)
        } catch is NIOTooManyBytesError {
            throw ControlRefusal(
                status: .contentTooLarge, code: "too_large",
                message: "A control request has at most \(Self.maximumControlBytes) bytes.")
        }
        let bytes = body.readableBytes == 0 ? Array("{}".utf8) : Array(body.readableBytesView)
        let limits = JSONLimits(
            maximumBytes: Self.maximumControlBytes, maximumDepth: 600, maximumMembers: 20_000,
            maximumStringBytes: Self.maximumControlBytes)
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes, limits: limits)
        } catch {
            throw ControlRefusal.invalid("The body is not a JSON object (RFC 8259, UTF-8, no duplicate members).")
        }
        return try ControlMembers.read(value, read)
    }

    /// For a request that has no members.
    func emptyBody() async throws { try await body { _ in } }
}

extension Response {
    static func json(_ object: JSONObject, status: HTTPResponse.Status = .ok) -> Response {
        json(document: object.bytes, status: status)
    }

    static func json(document bytes: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json;charset=UTF-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    static func items(_ items: [JSONObject]) -> Response { .json(["items": items]) }

    /// An empty object: the answer of a control request without a result.
    static var done: Response { .json([:]) }
}
