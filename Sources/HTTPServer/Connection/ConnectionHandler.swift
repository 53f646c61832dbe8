import Glibc
import NIOCore
import NIOExtras
import NIOHTTP1

/// The handler of one connection, between the HTTP decoder and the tasks that answer its requests.
///
/// It dispatches whole requests, writes the responses, enforces every deadline and closes the connection. From outside it is
/// closed at the end of a shutdown, and while it is idle or receives a body by `OpenConnections`. While a response is
/// streamed, every close is a reset.
///
/// ```
///            first byte        end of header            end of body
///   waiting ───────────▶ header ───────────▶ body ───────────▶ answering ─┐
///      ▲  10 s, then 75 s        10 s                10 s                 │ response, or a part, written: 30 s
///      └──────────────────────────────────────────────────────────────────┤
///                                       last response: lingering ◀────────┘
/// ```
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = InboundEvent
    typealias OutboundIn = EncodedResponse
    typealias OutboundOut = ByteBuffer

    private enum Stage {
        case open
        /// The last event has been dispatched. Nothing is read until it is answered, and bytes that still come in are
        /// dropped.
        case draining
        /// The last response is written and the output side is closed; the peer has time to read it.
        case lingering(until: NIODeadline)
    }

    private let limits: ServerLimits
    private let open: OpenConnections
    private let entry: OpenConnections.Entry
    private let admit: (ReceivedRequest) -> Responder.Admission
    private var assembly: RequestAssembly
    private var stage = Stage.open
    /// Events without a response.
    private var unanswered = 0
    /// The response to a request that was not admitted. It is written when the burst of bytes that the request came in
    /// has been read.
    private var rejection: EncodedResponse?
    /// Responses, and parts of one, that have not left the process.
    private var unflushed = 0
    /// Whether the first part of a response has been written, and its last has not left the process.
    private var isStreaming = false
    private var discardedBytes = 0
    /// Bytes of the body that is being received, as they arrive.
    private var framedBodyBytes = 0
    /// Whether `OpenConnections` counts that body.
    private var isBodyCounted = false
    /// Whether the first bytes of a header section have come.
    private var isReceivingHeader = false
    private var peerHasFinished = false
    private var isQuiescing = false

    private var readDeadline: NIODeadline?
    private var writeDeadline: NIODeadline?
    private var timer: (task: Scheduled<Void>, deadline: NIODeadline)?

    /// - Parameter admit: decides on each request with no unanswered one before it on the connection.
    init(
        limits: ServerLimits, open: OpenConnections, entry: OpenConnections.Entry,
        admit: @escaping (ReceivedRequest) -> Responder.Admission
    ) {
        self.limits = limits
        self.open = open
        self.entry = entry
        self.admit = admit
        self.assembly = RequestAssembly(limits: limits)
    }

    // MARK: Inbound

    func channelActive(context: ChannelHandlerContext) {
        guard open.add(entry) else {
            close(context)
            return
        }
        readDeadline = .now() + TimeAmount(limits.headerDeadline)
        arm(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.task.cancel()
        timer = nil
        if isBodyCounted { open.endBody(of: entry) }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard case .open = stage else {
            discard(Self.size(of: part), context)
            return
        }
        let step = assembly.receive(part)
        switch step {
        case .incomplete: break
        case .awaitingContinue:
            noteBody(context)
            // An interim response would overtake the responses to earlier requests; the client goes on without it.
            guard unanswered == 0 else { break }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
        case .complete(var request):
            if unanswered + 1 >= limits.pipelinedRequests { request.closes = true }
            receive(request, context)
        case .rejected(let problem, let head):
            dispatch(.rejection(problem, head: head), isLast: true, context)
        }
        if case .head = part, assembly.isReceivingBody {
            readDeadline = .now() + TimeAmount(limits.bodyDeadline)
            isReceivingHeader = false
        }
    }

    private func receive(_ request: ReceivedRequest, _ context: ChannelHandlerContext) {
        var request = request
        // A request behind another one of its connection acquires its permit when that one is answered: a connection
        // holds one at a time. It also waits behind a response that the peer has not read: otherwise a client that
        // never reads would be sent rejections without end.
        if isIdle {
            switch admit(request) {
            case .admitted(let route, let permit, let client): request.admitted = (route, permit, client)
            case .rejected(let response):
                reject(with: response)
                return
            }
        }
        dispatch(.request(request), isLast: request.closes, context)
    }

    /// Whether every request is answered, every response is written, and no body is half received. Only
    /// `LoadSheddingHandler` knows whether a header section has begun.
    var isIdle: Bool {
        guard case .open = stage else { return false }
        return unanswered == 0 && unflushed == 0 && !assembly.isReceivingBody
    }

    /// Writes the rejection of a request when this burst of bytes has been read.
    /// - Precondition: `isIdle`.
    func reject(with response: EncodedResponse) {
        begin(isLast: response.closes)
        rejection = response
    }

    private func dispatch(_ event: InboundEvent, isLast: Bool, _ context: ChannelHandlerContext) {
        begin(isLast: isLast)
        context.fireChannelRead(wrapInboundOut(event))
    }

    private func begin(isLast: Bool) {
        unanswered += 1
        isReceivingHeader = false
        entry.becameBusy()
        if isLast { stage = .draining }
    }

    /// Called at the end of every burst of bytes, even if the decoder found no whole header section in it: so this is
    /// where the first byte of a request is noticed.
    func channelReadComplete(context: ChannelHandlerContext) {
        noteBody(context)
        switch stage {
        case .open where unanswered > 0: readDeadline = nil
        case .open where assembly.isReceivingBody || isReceivingHeader: break
        case .open:
            isReceivingHeader = true
            readDeadline = .now() + TimeAmount(limits.headerDeadline)
        case .draining: readDeadline = nil
        case .lingering: context.read()
        }
        if let response = rejection.take() {
            send(response, nil, context)
            context.flush()
        }
        arm(context)
        context.fireChannelReadComplete()
    }

    /// Called with the bytes of a burst before they are decoded.
    func willDecode(_ count: Int) { framedBodyBytes = assembly.isReceivingBody ? framedBodyBytes + count : 0 }

    /// Counts a body that did not come in the same burst as its header section, until it has come.
    private func noteBody(_ context: ChannelHandlerContext) {
        guard let head = assembly.head else {
            if isBodyCounted { open.endBody(of: entry) }
            isBodyCounted = false
            return
        }
        guard framedBodyBytes <= limits.framedBodyBytes else {
            assembly.abandon()
            rejectMalformed(.malformedRequest("The chunks of the body are too small."), context)
            return
        }
        guard !isBodyCounted else { return }
        isBodyCounted = open.beginBody(of: entry, forwardedFor: head.headers["X-Forwarded-For"])
        guard !isBodyCounted else {
            if unanswered == 0 { entry.beganReceiving() }
            return
        }
        assembly.abandon()
        var problem = Overload.bodies.problem
        problem.endsConnection = true
        dispatch(.rejection(problem, head: head, overload: .bodies), isLast: true, context)
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
            rejectMalformed(.malformedRequest("The header section is too large."), context)
        case is HTTPParserError, is ByteToMessageDecoderError.PayloadTooLargeError:
            rejectMalformed(.malformedRequest("This is not HTTP/1.1."), context)
        default: close(context)
        }
    }

    private func rejectMalformed(_ problem: Problem, _ context: ChannelHandlerContext) {
        guard case .open = stage else { return }
        dispatch(.rejection(problem, head: nil), isLast: true, context)
    }

    /// About how many bytes a part had on the wire.
    private static func size(of part: HTTPServerRequestPart) -> Int {
        switch part {
        case .head(let head):
            head.headers.reduce(head.method.rawValue.utf8.count + head.uri.utf8.count + 13) {
                $0 + $1.name.utf8.count + $1.value.utf8.count + 4
            }
        case .body(let bytes): bytes.readableBytes
        case .end: 0
        }
    }

    private func discard(_ count: Int, _ context: ChannelHandlerContext) {
        discardedBytes += count
        guard discardedBytes <= limits.discardedBytes else {
            close(context)
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

    // MARK: Outbound

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        send(unwrapOutboundIn(data), promise, context)
    }

    private func send(
        _ response: EncodedResponse, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) {
        if response.continues { isStreaming = true } else { unanswered -= 1 }
        unflushed += 1
        if response.closes { stage = .draining }
        if unflushed == 1 { writeDeadline = .now() + TimeAmount(limits.writeDeadline) }
        let flushed = context.eventLoop.makePromise(of: Void.self)
        flushed.futureResult.assumeIsolated().whenComplete { result in
            self.flushed(response, result, context)
        }
        flushed.futureResult.cascade(to: promise)
        context.write(wrapOutboundOut(response.bytes), promise: flushed)
        arm(context)
    }

    private func flushed(
        _ response: EncodedResponse, _ result: Result<Void, any Error>, _ context: ChannelHandlerContext
    ) {
        guard case .success = result else {
            close(context)
            return
        }
        unflushed -= 1
        writeDeadline = unflushed == 0 ? nil : .now() + TimeAmount(limits.writeDeadline)
        if !response.continues { isStreaming = false }
        if response.closes, !response.continues {
            linger(context)
        } else if unanswered == 0, unflushed == 0 {
            awaitNextRequest(context)
        }
        arm(context)
    }

    private func awaitNextRequest(_ context: ChannelHandlerContext) {
        // The next request may have begun to come in while this one was answered. Its deadline starts now.
        readDeadline = .now() + TimeAmount(assembly.isReceivingBody ? limits.bodyDeadline : limits.idleDeadline)
        if assembly.isReceivingBody { entry.beganReceiving() } else { entry.becameIdle() }
        closeIfDone(context)
    }

    /// Closes the output side only, and reads on for a while. Closing both sides while bytes of the peer are in flight
    /// would make the kernel reset the connection, and the peer lose a response that it has not read yet (RFC 9112
    /// §9.6). When the peer closes its side as well, the channel is closed.
    private func linger(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        stage = .lingering(until: now + TimeAmount(limits.bodyDeadline))
        entry.becameIdle()
        readDeadline = now + TimeAmount(limits.lingerDeadline)
        context.close(mode: .output, promise: nil)
        // `RequestTasks` may have held the reading.
        context.read()
    }

    private func closeIfDone(_ context: ChannelHandlerContext) {
        guard unanswered == 0, unflushed == 0 else { return }
        let isBetweenRequests = !assembly.isReceivingBody && !isReceivingHeader
        if peerHasFinished || isQuiescing && isBetweenRequests { close(context) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        // A response that ends in the middle must not look whole. With HTTP/1.0 the end of the connection is the end of
        // the body, so that the peer learns of it by a reset alone (RFC 9112 §8).
        if isStreaming, mode == .all, let socket = context.channel as? any SocketOptionProvider {
            _ = socket.setSoLinger(.init(l_onoff: 1, l_linger: 0))
        }
        context.close(mode: mode, promise: promise)
    }

    private func close(_ context: ChannelHandlerContext) { close(context: context, mode: .all, promise: nil) }

    // MARK: Deadlines

    private var nextDeadline: NIODeadline? {
        guard let readDeadline, let writeDeadline else { return readDeadline ?? writeDeadline }
        return min(readDeadline, writeDeadline)
    }

    /// Keeps one timer for the nearer deadline. A deadline that moves later leaves the timer as it is, so that a busy
    /// connection schedules none at all.
    private func arm(_ context: ChannelHandlerContext) {
        guard context.channel.isActive, let next = nextDeadline else { return }
        if let timer {
            guard next < timer.deadline else { return }
            timer.task.cancel()
        }
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: next) { self.timerFired(context) }
        timer = (task, next)
    }

    private func timerFired(_ context: ChannelHandlerContext) {
        timer = nil
        let now = NIODeadline.now()
        if let nextDeadline, nextDeadline <= now {
            close(context)
        } else {
            arm(context)
        }
    }
}
