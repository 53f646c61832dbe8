import HTTPTypes
import Hummingbird
import JSON
import NIOCore

extension Request {
    /// The largest control request in bytes: enough for any key set or page that a fault is to answer with.
    static let maximumControlBytes = 1 << 20

    /// The body as a JSON object with these members at most; an empty body is an empty object. The content type is
    /// ignored, so that `curl -d` works without a header.
    func members(_ allowed: [String]) async throws -> ControlMembers {
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
        var limits = JSONLimits.standard
        limits.maximumBytes = Self.maximumControlBytes
        limits.maximumStringBytes = Self.maximumControlBytes
        limits.maximumDepth = 600
        limits.maximumMembers = 20_000
        limits.allowsControlCharacters = true
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes, limits: limits)
        } catch {
            throw ControlRefusal.invalid("The body is not a JSON object (RFC 8259, UTF-8, no duplicate members).")
        }
        return try ControlMembers(value, allowed: allowed)
    }
}

extension Response {
    /// A JSON object whose members are what `write` writes.
    static func json(
        _ status: HTTPResponse.Status = .ok, _ write: (inout JSONWriter) -> Void
    ) -> Response {
        json(status, document: JSONWriter.object(write))
    }

    static func json(_ status: HTTPResponse.Status = .ok, document bytes: [UInt8]) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json;charset=UTF-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    static func items<Item>(_ items: [Item], _ write: (Item, inout JSONWriter) -> Void) -> Response {
        .json { $0.objects("items", of: items, write) }
    }

    /// An empty object: the answer of a control request without a result.
    static var done: Response { .json { _ in } }
}
