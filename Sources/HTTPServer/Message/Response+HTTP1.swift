import NIOCore
import NIOHTTP1

/// A response, or a part of one that is streamed, as the bytes that go to the connection.
struct EncodedResponse: Sendable {
    var bytes: ByteBuffer
    /// Whether the connection closes after this response.
    var closes: Bool
    /// Whether further parts of this response follow.
    var continues = false
}

extension Response {
    /// The values besides the response itself that its bytes depend on.
    struct Framing {
        let requestID: String
        let date: String
        let closes: Bool
        /// Whether it answers HEAD: the header section alone, with the length of the body, if that was made.
        let omitsBody: Bool
        /// Whether the client knows chunks: HTTP/1.0 does not, and the end of the connection is the end of a streamed
        /// body (RFC 9112 §6.3).
        var takesChunks = true
    }

    /// The message of RFC 9112 in one buffer, so that it goes out in one write; of a streamed response the header section.
    func encoded(_ framing: Framing) -> EncodedResponse {
        var buffer = ByteBufferAllocator().buffer(capacity: 384 + body.count)
        buffer.writeString("HTTP/1.1 ")
        buffer.writeString(String(status.rawValue))
        buffer.writeString(" ")
        buffer.writeString(HTTPResponseStatus(statusCode: status.rawValue).reasonPhrase)
        buffer.writeString("\r\nDate: ")
        buffer.writeString(framing.date)
        buffer.writeString("\r\nX-Request-Id: ")
        buffer.writeString(framing.requestID)
        switch caching {
        case .noStore: buffer.writeString("\r\nCache-Control: no-store")
        case .shared(let seconds): buffer.writeString("\r\nCache-Control: public, max-age=\(seconds)")
        }
        buffer.writeString("\r\nX-Content-Type-Options: nosniff")
        if framing.closes { buffer.writeString("\r\nConnection: close") }
        if !status.forbidsBody {
            if let contentType {
                buffer.writeString("\r\nContent-Type: ")
                buffer.writeString(contentType)
            }
            // A handler that was asked by HEAD need not make the body, and then its length isn't known (RFC 9110 §8.6).
            if stream != nil {
                if framing.takesChunks, !framing.omitsBody { buffer.writeString("\r\nTransfer-Encoding: chunked") }
            } else if !framing.omitsBody || !body.isEmpty {
                buffer.writeString("\r\nContent-Length: ")
                buffer.writeString(String(body.count))
            }
        }
        for (name, value) in headers {
            buffer.writeString("\r\n")
            buffer.writeString(name)
            buffer.writeString(": ")
            buffer.writeBytes(value.utf8.lazy.map(Self.fieldByte))
        }
        buffer.writeString("\r\n\r\n")
        if !framing.omitsBody, !status.forbidsBody { buffer.writeBytes(body) }
        return EncodedResponse(bytes: buffer, closes: framing.closes, continues: stream != nil && !framing.omitsBody)
    }

    /// A value may contain text from outside (a redirect, for example). Filtering bytes, not characters, keeps CR LF,
    /// which is one Swift `Character`, from ending the field.
    private static func fieldByte(_ byte: UInt8) -> UInt8 {
        byte == 0x09 || 0x20..<0x7F ~= byte ? byte : UInt8(ascii: "?")
    }
}
