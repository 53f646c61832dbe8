import NIOCore

/// The body of one response on its way to the peer.
package struct BodyWriter: Sendable {
    /// The connection is gone, or was closed at its deadline: no fault of what is written.
    struct ConnectionLost: Error {
        let cause: any Error
    }

    /// Each part has `ServerLimits.writeDeadline` for itself, so its size is the least speed of a peer: 64 KiB in 30 s.
    private static let partBytes = 64 * 1024

    private let takesChunks: Bool
    private let closes: Bool
    private let connection: RequestTasks.Connection

    /// - Parameters:
    ///   - takesChunks: as in `Response.Framing`.
    ///   - closes: whether the connection closes after the response.
    init(takesChunks: Bool, closes: Bool, connection: RequestTasks.Connection) {
        self.takesChunks = takesChunks
        self.closes = closes
        self.connection = connection
    }

    /// Sends the next bytes. It returns when they have left the process.
    ///
    /// - Parameter bytes: none where nothing is to be sent for long: it throws if the peer has left meanwhile, which no
    ///   write would show.
    package func write(_ bytes: [UInt8]) async throws {
        guard !bytes.isEmpty else { return try await requirePeer() }
        var rest = bytes[...]
        // Never an empty part: an empty chunk is the end of the body.
        while !rest.isEmpty {
            let part = rest.prefix(Self.partBytes)
            rest = rest.dropFirst(part.count)
            try await send(encoded(part), continues: true)
        }
    }

    /// Sends the end of the body.
    func finish() async throws { try await send(ByteBuffer(string: takesChunks ? "0\r\n\r\n" : ""), continues: false) }

    /// A chunk (RFC 9112 §7.1).
    private func encoded(_ part: ArraySlice<UInt8>) -> ByteBuffer {
        guard takesChunks else { return ByteBuffer(bytes: part) }
        var buffer = ByteBufferAllocator().buffer(capacity: part.count + 16)
        buffer.writeString(String(part.count, radix: 16))
        buffer.writeString("\r\n")
        buffer.writeBytes(part)
        buffer.writeString("\r\n")
        return buffer
    }

    private func requirePeer() async throws {
        do {
            try await connection.requirePeer()
        } catch {
            throw ConnectionLost(cause: error)
        }
    }

    private func send(_ bytes: ByteBuffer, continues: Bool) async throws {
        do {
            try await connection.write(EncodedResponse(bytes: bytes, closes: closes, continues: continues))
        } catch {
            throw ConnectionLost(cause: error)
        }
    }
}
