import NIOCore
import NIOExtras
import NIOHTTP1

/// One connection, between the HTTP decoder and the task that answers it.
///
/// It hands up whole requests, writes the answers, keeps every deadline and ends the connection. Nobody else closes it,
/// except when the task is cancelled.
///
/// ```
///            first byte        end of header            end of body
///   waiting ───────────▶ header ───────────▶ body ───────────▶ answering ─┐
///      ▲  10 s, then 60 s        10 s                30 s                 │ answer written: 30 s
///      └──────────────────────────────────────────────────────────────────┤
///                                       last answer: lingering ◀──────────┘
/// ```
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = InboundEvent
    typealias OutboundIn = EncodedResponse
    typealias OutboundOut = ByteBuffer

    private enum Stage {
        case open
        /// The last arrival has been handed up. Nothing is read until it is answered, and what comes in is dropped.
        case draining
        /// The last answer is out and our side is closed; the peer may read it in peace.
        case lingering(until: NIODeadline)
    }

    private let limits: ServerLimits
    private let admit: (ReceivedRequest, any Channel) -> Responder.Admission
    private var assembly: RequestAssembly
    private var stage = Stage.open
    /// Arrivals that have not been answered.
    private var unanswered = 0
    /// The answer to a request that was not let in. It goes out when the burst of bytes that the request came in has been
    /// read.
    private var refused: EncodedResponse?
    /// Answers that have not left the process.
    private var unflushed = 0
    private var discardedBytes = 0
    /// The first bytes of a header section have come.
    private var isReceivingHeader = false
    private var peerHasFinished = false
    private var isQuiescing = false

    private var readDeadline: NIODeadline?
    private var writeDeadline: NIODeadline?
    private var timer: (task: Scheduled<Void>, deadline: NIODeadline)?

    /// - Parameter admit: is asked about each request that nothing else of the connection stands before.
    init(limits: ServerLimits, admit: @escaping (ReceivedRequest, any Channel) -> Responder.Admission) {
        self.limits = limits
        self.admit = admit
        self.assembly = RequestAssembly(limits: limits)
    }

    // MARK: What comes in

    func channelActive(context: ChannelHandlerContext) {
        readDeadline = .now() + TimeAmount(limits.headerDeadline)
        arm(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.task.cancel()
        timer = nil
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard case .open = stage else {
            if case .body(let bytes) = part { discard(bytes.readableBytes, context) }
            return
        }
        let step = assembly.receive(part)
        switch step {
        case .incomplete: break
        case .awaitingContinue:
            // An interim answer would overtake those that are owed to earlier requests; the client goes on without it.
            guard unanswered == 0 else { break }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
        case .complete(var request):
            if unanswered + 1 >= limits.pipelinedRequests { request.closes = true }
            receive(request, context)
        case .refused(let problem, let requestID):
            dispatch(.refusal(problem, requestID: requestID), isLast: true, context)
        }
        if case .head = part, assembly.isReceivingBody {
            readDeadline = .now() + TimeAmount(limits.bodyDeadline)
            isReceivingHeader = false
        }
    }

    private func receive(_ request: ReceivedRequest, _ context: ChannelHandlerContext) {
        var request = request
        // Behind another request of its connection it looks for a place when its turn comes: a connection has one. Behind an
        // answer that the peer has not taken it waits as all do, or whoever never reads would be sent refusals without end.
        if isIdle {
            switch admit(request, context.channel) {
            case .admitted(let route, let permit): request.admitted = (route, permit)
            case .refused(let reply):
                reject(with: reply)
                return
            }
        }
        dispatch(.request(request), isLast: request.closes, context)
    }

    /// Nothing is unanswered or on its way out, and no body is half received. Whether a header section has begun, only the
    /// gate knows.
    var isIdle: Bool {
        guard case .open = stage else { return false }
        return unanswered == 0 && unflushed == 0 && !assembly.isReceivingBody
    }

    /// Answers a request with its refusal when this burst of bytes has been read.
    /// - Precondition: `isIdle`.
    func reject(with reply: EncodedResponse) {
        begin(isLast: reply.closes)
        refused = reply
    }

    private func dispatch(_ arrival: InboundEvent, isLast: Bool, _ context: ChannelHandlerContext) {
        begin(isLast: isLast)
        context.fireChannelRead(wrapInboundOut(arrival))
    }

    private func begin(isLast: Bool) {
        unanswered += 1
        isReceivingHeader = false
        if isLast { stage = .draining }
    }

    /// Every burst of bytes ends here, also one in which the decoder found no whole header section: so this is where the
    /// first byte of a request is seen.
    func channelReadComplete(context: ChannelHandlerContext) {
        switch stage {
        case .open where unanswered > 0: readDeadline = nil
        case .open where assembly.isReceivingBody || isReceivingHeader: break
        case .open:
            isReceivingHeader = true
            readDeadline = .now() + TimeAmount(limits.headerDeadline)
        case .draining: readDeadline = nil
        case .lingering: context.read()
        }
        if let reply = refused.take() {
            answer(with: reply, nil, context)
            context.flush()
        }
        arm(context)
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            peerHasFinished = true
            closeIfDone(context)
        case is ChannelShouldQuiesceEvent:
            isQuiescing = true
            closeIfDone(context)
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case ByteToMessageDecoderError.dataReceivedInErrorState(_, let bytes): discard(bytes.readableBytes, context)
        case HTTPParserError.invalidEOFState: break
        case HTTPParserError.headerOverflow:
            refuse(.malformedRequest("The header section is too large."), context)
        case is HTTPParserError, is ByteToMessageDecoderError.PayloadTooLargeError:
            refuse(.malformedRequest("This is not HTTP/1.1."), context)
        default: context.close(promise: nil)
        }
    }

    private func refuse(_ problem: Problem, _ context: ChannelHandlerContext) {
        guard case .open = stage else { return }
        dispatch(.refusal(problem, requestID: nil), isLast: true, context)
    }

    private func discard(_ count: Int, _ context: ChannelHandlerContext) {
        discardedBytes += count
        guard discardedBytes <= limits.discardedBytes else {
            context.close(promise: nil)
            return
        }
        if case .lingering(let end) = stage {
            readDeadline = min(end, .now() + TimeAmount(limits.lingerDeadline))
        }
    }

    func read(context: ChannelHandlerContext) {
        if case .draining = stage { return }
        context.read()
    }

    // MARK: What goes out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        answer(with: unwrapOutboundIn(data), promise, context)
    }

    private func answer(
        with reply: EncodedResponse, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) {
        unanswered -= 1
        unflushed += 1
        if reply.closes { stage = .draining }
        if unflushed == 1 { writeDeadline = .now() + TimeAmount(limits.writeDeadline) }
        let flushed = context.eventLoop.makePromise(of: Void.self)
        flushed.futureResult.assumeIsolated().whenComplete { result in
            self.flushed(isLast: reply.closes, result, context)
        }
        flushed.futureResult.cascade(to: promise)
        context.write(wrapOutboundOut(reply.bytes), promise: flushed)
        arm(context)
    }

    private func flushed(isLast: Bool, _ result: Result<Void, any Error>, _ context: ChannelHandlerContext) {
        guard case .success = result else {
            context.close(promise: nil)
            return
        }
        unflushed -= 1
        writeDeadline = unflushed == 0 ? nil : .now() + TimeAmount(limits.writeDeadline)
        if isLast {
            linger(context)
        } else if unanswered == 0, unflushed == 0 {
            awaitNextRequest(context)
        }
        arm(context)
    }

    private func awaitNextRequest(_ context: ChannelHandlerContext) {
        // A next request may have begun to come in while this one was answered. Its time starts now.
        readDeadline = .now() + TimeAmount(assembly.isReceivingBody ? limits.bodyDeadline : limits.idleDeadline)
        closeIfDone(context)
    }

    /// Closes our side only, and reads on for a while. To close both while bytes of the peer are on their way would make the
    /// kernel reset the connection, and the peer lose an answer that it has not yet read (RFC 9112 §9.6).
    /// When the peer closes its side as well, the channel is closed.
    private func linger(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        stage = .lingering(until: now + TimeAmount(limits.bodyDeadline))
        readDeadline = now + TimeAmount(limits.lingerDeadline)
        context.close(mode: .output, promise: nil)
        // The task that answers takes no more requests, and reading may have stopped with it.
        context.read()
    }

    private func closeIfDone(_ context: ChannelHandlerContext) {
        guard unanswered == 0, unflushed == 0 else { return }
        let isBetweenRequests = !assembly.isReceivingBody && !isReceivingHeader
        if peerHasFinished || isQuiescing && isBetweenRequests { context.close(promise: nil) }
    }

    // MARK: Deadlines

    private var nextDeadline: NIODeadline? {
        guard let readDeadline, let writeDeadline else { return readDeadline ?? writeDeadline }
        return min(readDeadline, writeDeadline)
    }

    /// Keeps one timer for whichever deadline is nearer. A deadline that moves away leaves the timer as it is, so that a
    /// busy connection sets none at all.
    private func arm(_ context: ChannelHandlerContext) {
        guard context.channel.isActive, let next = nextDeadline else { return }
        if let timer {
            guard next < timer.deadline else { return }
            timer.task.cancel()
        }
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: next) { self.timeIsUp(context) }
        timer = (task, next)
    }

    private func timeIsUp(_ context: ChannelHandlerContext) {
        timer = nil
        let now = NIODeadline.now()
        if let nextDeadline, nextDeadline <= now {
            context.close(promise: nil)
        } else {
            arm(context)
        }
    }
}
