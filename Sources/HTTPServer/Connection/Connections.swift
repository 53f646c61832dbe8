import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// How a listener sets up each connection that it accepts, and answers what comes from it.
struct Connections: ServerChildChannel {
    typealias Value = NIOAsyncChannel<InboundEvent, EncodedResponse>

    let limits: ServerLimits
    let responder: Responder

    /// bytes → `LoadSheddingHandler` → `HTTPRequestDecoder` → parts → `ConnectionHandler` → whole requests → the task of `handle`;
    /// the answers are written as bytes by the handler. What there is no place for comes as far as the gate when it is plain,
    /// and as far as the handler when it isn't. There is no encoder and no upgrade: HTTP/1.1 and nothing else.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            var decoding = NIOHTTPDecoderLimitConfiguration()
            decoding.maxHeaderFieldSize = limits.headerBytes
            decoding.maxHeaderListSize = limits.headerBytes
            decoding.maxHeaderFieldCount = limits.headerFields
            let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoding)
            let connection = ConnectionHandler(limits: limits) { responder.admit($0, peer: Self.peer(of: $1)) }
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(LoadSheddingHandler(refusals: responder.refusals, connection: connection))
            // What the decoder leaves in the buffer is part of one field at most, unless it has stopped reading.
            try pipeline.addHandler(ByteToMessageHandler(decoder, maximumBufferSize: 2 * limits.headerBytes))
            try pipeline.addHandler(connection)
            return try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2)))
        }
    }

    func handle(value connection: Value, logger: Logger) async {
        let channel = connection.channel
        responder.metrics.connectionOpened()
        defer { responder.metrics.connectionClosed() }
        let peer = Self.peer(of: channel)
        await withTaskCancellationHandler {
            do {
                try await connection.executeThenClose { arrivals, replies in
                    var turn = ContinuousClock.now
                    for try await arrival in arrivals {
                        let reply = await responder.reply(to: arrival, peer: peer, turn: turn)
                        try await replies.write(reply)
                        turn = .now
                        if reply.closes { break }
                    }
                    // The handler ends the connection, when the last answer has been taken.
                    try await channel.closeFuture.get()
                }
            } catch {
                logger.trace("connection lost", metadata: ["error": "\(error)"])
            }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    private static func peer(of channel: any Channel) -> ClientAddress {
        channel.remoteAddress?.ipAddress.flatMap(ClientAddress.init) ?? .unspecified
    }
}
