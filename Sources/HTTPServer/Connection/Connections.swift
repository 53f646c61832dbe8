import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// The set-up of the connections that a listener accepts: the channel pipeline of each, and the task that answers its
/// requests.
struct Connections: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let connection: NIOAsyncChannel<InboundEvent, EncodedResponse>
        let entry: OpenConnections.Entry

        var channel: any Channel { connection.channel }
    }

    let limits: ServerLimits
    let responder: Responder
    let open: OpenConnections

    /// bytes → `LoadSheddingHandler` → `HTTPRequestDecoder` → parts → `ConnectionHandler` → whole requests → the task
    /// of `handle`; `ConnectionHandler` writes the responses as bytes. A request without a permit gets as far as
    /// `LoadSheddingHandler` if it is plain, and as far as `ConnectionHandler` if not. There is no encoder and no
    /// upgrade: HTTP/1.1 only.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            var decoding = NIOHTTPDecoderLimitConfiguration()
            decoding.maxHeaderFieldSize = limits.headerBytes
            decoding.maxHeaderListSize = limits.headerBytes
            decoding.maxHeaderFieldCount = limits.headerFields
            let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoding)
            let entry = open.entry(of: channel, peer: Self.peer(of: channel))
            let connection = ConnectionHandler(limits: limits, open: open, entry: entry) {
                responder.admit($0, peer: Self.peer(of: $1))
            }
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(LoadSheddingHandler(rejections: responder.rejections, connection: connection))
            // What the decoder leaves in the buffer is part of one field at most, unless it has stopped reading.
            try pipeline.addHandler(ByteToMessageHandler(decoder, maximumBufferSize: 2 * limits.headerBytes))
            try pipeline.addHandler(connection)
            return Value(
                connection: try NIOAsyncChannel(
                    wrappingChannelSynchronously: channel,
                    configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2))),
                entry: entry)
        }
    }

    func handle(value: Value, logger: Logger) async {
        let (connection, channel) = (value.connection, value.channel)
        guard open.add(value.entry) else {
            try? await connection.executeThenClose { _, _ in }
            return
        }
        defer { open.remove(value.entry) }
        responder.metrics.connectionOpened()
        defer { responder.metrics.connectionClosed() }
        let peer = Self.peer(of: channel)
        await withTaskCancellationHandler {
            do {
                try await connection.executeThenClose { inbound, outbound in
                    var lastResponse = ContinuousClock.now
                    for try await event in inbound {
                        let closes = try await responder.respond(to: event, peer: peer, after: lastResponse) {
                            try await outbound.write($0)
                        }
                        lastResponse = .now
                        if closes { break }
                    }
                    // `ConnectionHandler` closes the channel when the peer has the last response.
                    try await channel.closeFuture.get()
                }
            } catch {
                logger.trace("connection lost", metadata: ["error": "\(error)"])
            }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    static func peer(of channel: any Channel) -> ClientAddress {
        channel.remoteAddress?.ipAddress.flatMap(ClientAddress.init) ?? .unspecified
    }
}
