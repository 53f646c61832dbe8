import NIOCore
import Primitives

/// The last handler of a connection: it begins a task for each event, one at a time and in order.
///
/// A connection that waits for a request has no task, whose stack would keep the memory of the last one. While the peer
/// does not read its responses no event is begun, and while two events wait nothing is read.
final class RequestTasks: ChannelDuplexHandler {
    typealias InboundIn = InboundEvent
    typealias OutboundIn = Never
    typealias OutboundOut = EncodedResponse

    private let responder: Responder
    private let peer: IPAddress
    private let executor: EventLoopExecutor?
    private var context: ChannelHandlerContext?
    private var waiting: [InboundEvent] = []
    private var isReadHeld = false
    private var peerHasFinished = false
    /// Since when the next event could have been begun. What the peer has yet to read is no delay of the process's.
    private var readySince = ContinuousClock.now
    /// The task whose response has not been written to its end.
    private(set) var running: Task<Void, Never>?

    /// - Parameter executor: where the tasks run that begin while few others do; `nil` for the runtime's pool.
    init(responder: Responder, peer: IPAddress, executor: EventLoopExecutor?) {
        self.responder = responder
        self.peer = peer
        self.executor = executor
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A write that failed may have closed the channel in the middle of a burst.
        guard context.channel.isActive else { return }
        waiting.append(unwrapInboundIn(data))
        beginNext()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if running == nil, context.channel.isWritable { readySince = .now }
        beginNext()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        waiting.removeAll()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { peerHasFinished = true }
        context.fireUserInboundEventTriggered(event)
    }

    func read(context: ChannelHandlerContext) {
        isReadHeld = waiting.count > 1
        if !isReadHeld { context.read() }
    }

    private func beginNext() {
        guard running == nil, !waiting.isEmpty, let context, context.channel.isWritable else { return }
        let event = waiting.removeFirst()
        // A burst's room is not kept.
        if waiting.isEmpty, waiting.capacity > 2 { waiting = [] }
        let connection = Connection(
            peer: peer, readySince: readySince, tasks: NIOLoopBound(self, eventLoop: context.eventLoop),
            eventLoop: context.eventLoop)
        running = Task(executorPreference: responder.admission.isQuiet ? executor : nil) { [responder] in
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
            readySince = .now
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

    /// Whether the connection is open, the peer's side of it too. One that closes its side and reads on does so by intent;
    /// of one that has left altogether nothing else shows before the next write.
    private var hasPeer: Bool { context?.channel.isActive == true && !peerHasFinished }

    private func close() {
        running = nil
        waiting.removeAll()
        context?.close(promise: nil)
    }

    /// The connection, as the task of a request sees it.
    struct Connection: Sendable {
        let peer: IPAddress
        /// Since when the request could have been begun, had it been there.
        let readySince: ContinuousClock.Instant
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

        /// - Throws: when the peer has left.
        func requirePeer() async throws {
            guard try await eventLoop.submit({ tasks.value.hasPeer }).get() else { throw ChannelError.inputClosed }
        }

        fileprivate func close() { eventLoop.execute { tasks.value.close() } }
    }
}
