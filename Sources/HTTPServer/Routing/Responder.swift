import Logging
import NIOCore
import NIOHTTP1
import Primitives

/// The processing of an event to its response: request id, route, admission, handler, error mapping, headers, log line,
/// metrics.
final class Responder: Sendable {
    let routes: RouteTable
    let admission: AdmissionController
    private let queueTimeout: Duration
    let trustedProxies: TrustedProxies
    let logger: Logger
    let metrics: RequestMetrics
    private let date = HTTPDate()
    private let overloadLog = OverloadLog()
    /// Apart, so that one network's excess takes no line of an overload that is everybody's.
    private let networksLog = OverloadLog()
    /// For requests that are rejected undecoded.
    let rejections: PrebuiltRejections

    init(
        routes: [Route], limits: ServerLimits, admission: AdmissionController, trustedProxies: TrustedProxies,
        logger: Logger, metrics: RequestMetrics
    ) {
        self.routes = RouteTable(routes)
        self.admission = admission
        queueTimeout = limits.queueTimeout
        self.trustedProxies = trustedProxies
        self.logger = logger
        self.metrics = metrics
        self.rejections = PrebuiltRejections(
            of: routes, limits: limits, admission: admission, metrics: metrics, log: overloadLog, date: date)
    }

    private struct Outcome {
        var response: Response
        var route = "-"
        var problem: Problem?
        var client: IPAddress?
        var overload: Overload?
        /// That of a request whose response is yet to be made while it is sent.
        var permit: Permit?
    }

    /// The decision on a request with no unanswered one before it on its connection.
    enum Admission {
        /// It is dispatched, with its permit when it needs one.
        case admitted(RouteTable.Resolution, Permit?, client: IPAddress)
        case rejected(EncodedResponse)
    }

    /// Decides on the event loop that has read the request, without a task: at three times the capacity two thirds of
    /// the requests are rejected, so a rejection has to cost next to nothing.
    func admit(_ received: ReceivedRequest, peer: IPAddress) -> Admission {
        let method = Route.Method(received.head.method)
        let path = RequestTarget(received.head.uri).path
        let resolution = routes.resolve(method, path: path)
        let client = client(peer, received.head.headers)
        guard case .found(let route, _) = resolution else { return .admitted(resolution, nil, client: client) }
        do throws(Overload) {
            let permit = try admission.acquire(route.priority, for: sharer(client))
            return .admitted(resolution, permit, client: client)
        } catch {
            let context = Self.context(of: received)
            return RequestContext.$current.withValue(context) {
                let outcome = rejection(for: error, route: route, client: client, in: context)
                return .rejected(finish(outcome, of: received, in: context, since: received.arrival))
            }
        }
    }

    /// - Throws: what writing to the connection or the making of a streamed body has thrown. The connection is then to be
    ///   closed.
    func respond(to event: InboundEvent, on connection: RequestTasks.Connection) async throws {
        switch event {
        case .request(let received):
            let start = max(connection.readySince, received.arrival)
            let context = Self.context(of: received)
            try await RequestContext.$current.withValue(context) {
                let outcome = await outcome(of: received, in: context, on: connection, waited: .now - start)
                defer { outcome.permit?.release() }
                let head = finish(outcome, of: received, in: context, since: start)
                try await connection.write(head)
                if head.continues, let stream = outcome.response.stream {
                    let body = BodyWriter(
                        takesChunks: received.head.version.minor == 1, closes: head.closes, connection: connection)
                    try await send(stream, to: body, route: outcome.route)
                }
            }
        case .rejection(let problem, let head, let overload):
            let context = RequestContext(requestID: Self.id(head?.headers.first(name: "X-Request-Id")), trace: nil)
            let received = head.map { ReceivedRequest(head: $0, body: ByteBuffer(), closes: true) }
            let client = client(connection.peer, head?.headers ?? [:])
            let response = RequestContext.$current.withValue(context) {
                if let overload, let received,
                    case .found(let route, _) = routes.resolve(
                        Route.Method(received.head.method), path: RequestTarget(received.head.uri).path)
                {
                    let outcome = rejection(for: overload, route: route, client: client, in: context)
                    return finish(outcome, of: received, in: context, since: .now)
                }
                let response = early(
                    problem, received, on: connection, client: client, in: context, isPlain: overload != nil)
                return finish(
                    Outcome(response: response, problem: problem, overload: overload), of: nil, in: context, since: .now
                )
            }
            try await connection.write(response)
        }
    }

    /// The status has been sent, and the line of the request written: a fault in the middle has a line of its own.
    private func send(_ stream: Response.Stream, to body: BodyWriter, route: String) async throws {
        do {
            try await stream(body)
            try await body.finish()
        } catch let error as BodyWriter.ConnectionLost {
            throw error
        } catch {
            logger.error("response cut off", metadata: Self.metadata(of: error, route: route))
            throw error
        }
    }

    private static func context(of received: ReceivedRequest) -> RequestContext {
        let headers = received.head.headers
        return RequestContext(
            requestID: id(headers.first(name: "X-Request-Id")), trace: TraceParent(fields: headers["traceparent"]))
    }

    /// - Parameter received: `nil` for input that was no request; the connection closes after the response.
    private func finish(
        _ outcome: Outcome, of received: ReceivedRequest?, in context: RequestContext,
        since start: ContinuousClock.Instant
    ) -> EncodedResponse {
        let method = received?.head.method.rawValue ?? "-"
        let closes = received?.closes ?? true || admission.isDraining || outcome.problem?.endsConnection == true
        let encoded = outcome.response.encoded(
            Response.Framing(
                requestID: context.requestID, date: date.text(), closes: closes, omitsBody: method == "HEAD",
                takesChunks: received?.head.version.minor == 1))
        let now = ContinuousClock.now
        var record = RequestRecord(
            method: method, route: outcome.route, status: outcome.response.status.rawValue, duration: now - start,
            code: outcome.problem?.code, reason: outcome.problem?.reason, client: outcome.client, email: context.email,
            isExpected: outcome.problem?.isExpected ?? false)
        metrics.record(record)
        if let overload = outcome.overload {
            metrics.requestShed(for: overload)
            let log = overload.isOfOneNetwork ? networksLog : overloadLog
            guard let unlogged = log.sample(at: now) else { return encoded }
            record.unlogged = unlogged
        }
        record.log(to: logger)
        return encoded
    }

    private static func id(_ incoming: String?) -> String { incoming.flatMap(RequestID.accepted) ?? RequestID.fresh() }

    private func outcome(
        of received: ReceivedRequest, in context: RequestContext, on connection: RequestTasks.Connection,
        waited: Duration
    ) async -> Outcome {
        let id = context.requestID
        let target = RequestTarget(received.head.uri)
        let client = received.admitted?.client ?? client(connection.peer, received.head.headers)
        var route = "-"
        var permit = received.admitted?.permit
        defer { permit?.release() }
        do {
            let resolution =
                received.admitted?.route ?? routes.resolve(Route.Method(received.head.method), path: target.path)
            switch resolution {
            case .notFound: throw Problem(.notFound)
            case .methodNotAllowed(let allow): throw Problem.methodNotAllowed(allow: allow)
            case .found(let match, let parameters):
                route = match.template
                guard waited <= queueTimeout || match.priority == .observing else {
                    return rejection(for: .waitedTooLong, route: match, client: client, in: context)
                }
                // A request behind another one of its connection has no permit yet.
                if permit == nil {
                    do throws(Overload) {
                        permit = try admission.acquire(match.priority, for: sharer(client))
                    } catch {
                        return rejection(for: error, route: match, client: client, in: context)
                    }
                }
                let request = Request(
                    context: context, received: received, on: connection, target: target, parameters: parameters,
                    client: client, logger: logger)
                do {
                    let response = try await match.handler(request)
                    return Outcome(
                        response: response, route: route, problem: response.problem, client: client,
                        permit: response.stream == nil ? nil : permit.take())
                } catch {
                    guard let refusal = match.refusal else { throw error }
                    let problem = Problem(error) ?? unexpected(error, route: route)
                    return Outcome(
                        response: refusal(error, problem, request), route: route, problem: problem, client: client)
                }
            }
        } catch {
            let problem = Problem(error) ?? unexpected(error, route: route)
            guard route == "-" else {
                return Outcome(
                    response: problem.response(requestID: id), route: route, problem: problem, client: client)
            }
            let response = early(problem, received, on: connection, client: client, in: context)
            return Outcome(response: response, route: route, problem: problem, client: client)
        }
    }

    /// The response to what reaches no handler.
    ///
    /// - Parameters:
    ///   - received: without its body where that is why; `nil` for input that was no request.
    ///   - isPlain: whether it may cost no page.
    private func early(
        _ problem: Problem, _ received: ReceivedRequest?, on connection: RequestTasks.Connection, client: IPAddress,
        in context: RequestContext, isPlain: Bool = false
    ) -> Response {
        guard let received else { return problem.response(requestID: context.requestID) }
        let target = RequestTarget(received.head.uri)
        // A page costs as much as what is read.
        let permit = isPlain ? nil : (try? admission.acquire(.reading, for: sharer(client)))
        defer { permit?.release() }
        let request = permit.map { _ in
            Request(
                context: context, received: received, on: connection, target: target, parameters: [], client: client,
                logger: logger)
        }
        return routes.earlyRefusal(of: target.path)?(problem, request)
            ?? problem.response(requestID: context.requestID)
    }

    private func rejection(
        for overload: Overload, route: Route, client: IPAddress, in context: RequestContext
    ) -> Outcome {
        let problem = overload.problem
        return Outcome(
            response: route.earlyRefusal?(problem, nil) ?? problem.response(requestID: context.requestID),
            route: route.template, problem: problem, client: client, overload: overload)
    }

    private func client(_ peer: IPAddress, _ headers: HTTPHeaders) -> IPAddress {
        guard trustedProxies.contains(peer) else { return peer }
        return trustedProxies.client(of: peer, forwardedFor: headers["X-Forwarded-For"])
    }

    /// Whose networks a permit counts for; `nil` where none is known, as of a proxy that forwards no address.
    private func sharer(_ client: IPAddress) -> IPAddress? {
        client.isLocal || trustedProxies.contains(client) ? nil : client
    }

    /// Clients get the request id and nothing else. The log gets the error's debug description, which for the errors of
    /// this project never contains input of a client; control characters of any other error don't reach the line.
    private func unexpected(_ error: any Error, route: String) -> Problem {
        logger.error("request failed unexpectedly", metadata: Self.metadata(of: error, route: route))
        return Problem(.internalError)
    }

    private static func metadata(of error: any Error, route: String) -> Logger.Metadata {
        let text = String(
            String(reflecting: error).unicodeScalars.prefix(1000).map { $0.value < 0x20 ? " " : Character($0) })
        return ["error": .string(text), "route": .string(route)]
    }
}

extension Route.Method {
    /// The method under which a request is looked up: HEAD is answered by the route of GET (RFC 9110 §9.3.2).
    init?(_ method: HTTPMethod) {
        switch method {
        case .GET, .HEAD: self = .get
        case .POST: self = .post
        case .PUT: self = .put
        case .PATCH: self = .patch
        case .DELETE: self = .delete
        default: return nil
        }
    }
}

extension Problem {
    static func methodNotAllowed(allow: String) -> Problem {
        var problem = Problem(.methodNotAllowed)
        problem.allow = allow
        return problem
    }
}
