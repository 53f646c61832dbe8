import NIOCore

/// The last handler of a connection: it begins a task for each event, one at a time and in order.
///
/// A connection that waits for a request has no task, whose stack would keep the memory of the last one. While the peer
/// does not read its responses no event is begun, and while two events wait nothing is read.
final class RequestTasks: ChannelDuplexHandler {
    typealias InboundIn = InboundEvent
    typealias OutboundIn = Never
    typealias OutboundOut = EncodedResponse

    private let responder: Responder
    private let peer: ClientAddress
    private var context: ChannelHandlerContext?
    private var waiting: [InboundEvent] = []
    private var isReadHeld = false
    private var lastResponse = ContinuousClock.now
    /// The task whose response has not been written to its end.
    private(set) var running: Task<Void, Never>?

    init(responder: Responder, peer: ClientAddress) {
        self.responder = responder
        self.peer = peer
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        waiting.append(unwrapInboundIn(data))
        beginNext()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        beginNext()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        waiting.removeAll()
        context.fireChannelInactive()
    }

    func read(context: ChannelHandlerContext) {
        isReadHeld = waiting.count > 1
        if !isReadHeld { context.read() }
    }

    private func beginNext() {
        guard running == nil, !waiting.isEmpty, let context, context.channel.isWritable else { return }
        let event = waiting.removeFirst()
        let connection = Connection(
            peer: peer, lastResponse: lastResponse, tasks: NIOLoopBound(self, eventLoop: context.eventLoop),
            eventLoop: context.eventLoop)
        running = Task { [responder] in
            do {
                try await responder.respond(to: event, on: connection)
            } catch {
                connection.close()
            }
        }
        if isReadHeld { read(context: context) }
    }

    private func write(_ response: EncodedResponse, _ promise: EventLoopPromise<Void>?) {
        if !response.continues {
            running = nil
            lastResponse = .now
            // What waits behind the last response of a connection is not answered.
            if response.closes { waiting.removeAll() }
        }
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.writeAndFlush(wrapOutboundOut(response), promise: promise)
        beginNext()
    }

    private func close() {
        running = nil
        waiting.removeAll()
        context?.close(promise: nil)
    }

    /// The connection, as the task of a request sees it.
    struct Connection: Sendable {
        let peer: ClientAddress
        /// The time of the previous response, or of the opening.
        let lastResponse: ContinuousClock.Instant
        fileprivate let tasks: NIOLoopBound<RequestTasks>
        fileprivate let eventLoop: any EventLoop

        /// Sends a response or a part of one. The end is not waited for, and a part until it has left the process.
        func write(_ response: EncodedResponse) async throws {
            guard response.continues else {
                eventLoop.execute { tasks.value.write(response, nil) }
                return
            }
            let promise = eventLoop.makePromise(of: Void.self)
            eventLoop.execute { tasks.value.write(response, promise) }
            try await promise.futureResult.get()
        }

        fileprivate func close() {
            eventLoop.execute { tasks.value.close() }
        }
    }
}
