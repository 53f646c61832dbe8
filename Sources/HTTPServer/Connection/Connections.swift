import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Primitives

/// The set-up of the connections that a listener accepts: the channel pipeline of each, and the wait for its end.
struct Connections: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let entry: OpenConnections.Entry
        let tasks: NIOLoopBound<RequestTasks>
    }

    let limits: ServerLimits
    let responder: Responder
    let runsHandlersOnEventLoops: Bool
    let open: OpenConnections

    /// bytes → `LoadSheddingHandler` → `HTTPRequestDecoder` → parts → `ConnectionHandler` → whole requests →
    /// `RequestTasks`; `ConnectionHandler` writes the responses as bytes. A request without a permit gets as far as
    /// `LoadSheddingHandler` if it is plain, and as far as `ConnectionHandler` if not, or if its network has its share. There
    /// is no encoder and no upgrade: HTTP/1.1 only.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            var decoding = NIOHTTPDecoderLimitConfiguration()
            decoding.maxHeaderFieldSize = limits.headerBytes
            decoding.maxHeaderListSize = limits.headerBytes
            decoding.maxHeaderFieldCount = limits.headerFields
            let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoding)
            let peer = channel.remoteAddress?.ipAddress.flatMap(IPAddress.init) ?? .unspecified
            let entry = open.entry(of: channel, peer: peer)
            let connection = ConnectionHandler(limits: limits, open: open, entry: entry) {
                responder.admit($0, peer: peer)
            }
            let executor = runsHandlersOnEventLoops ? EventLoopExecutor(channel.eventLoop) : nil
            let tasks = RequestTasks(responder: responder, peer: peer, executor: executor)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(LoadSheddingHandler(rejections: responder.rejections, connection: connection))
            // What the decoder leaves in the buffer is part of one field at most, unless it has stopped reading.
            try pipeline.addHandler(ByteToMessageHandler(decoder, maximumBufferSize: 2 * limits.headerBytes))
            try pipeline.addHandler(connection)
            try pipeline.addHandler(tasks)
            return Value(channel: channel, entry: entry, tasks: NIOLoopBound(tasks, eventLoop: channel.eventLoop))
        }
    }

    /// Returns when the channel is closed and the last request has been handled: until then the connection counts.
    func handle(value: Value, logger: Logger) async {
        defer { open.remove(value.entry) }
        let (channel, tasks) = (value.channel, value.tasks)
        await withTaskCancellationHandler {
            try? await channel.closeFuture.get()
            let running = try? await channel.eventLoop.submit { tasks.value.running }.get()
            await running?.value
        } onCancel: {
            channel.close(promise: nil)
            channel.eventLoop.execute { tasks.value.running?.cancel() }
        }
    }
}
