import Logging
import NIOHTTP1

/// Answers what comes up from a connection: request id, route, admission, handler, map of errors, headers, log line, figures.
struct Responder: Sendable {
    let routes: RouteTable
    let traffic: Traffic
    private let patience: Duration
    let trustedProxies: TrustedProxies
    let logger: Logger
    let metrics: RequestMetrics
    private let date = HTTPDate()

    init(
        routes: RouteTable, traffic: Traffic, patience: Duration, trustedProxies: TrustedProxies, logger: Logger,
        metrics: RequestMetrics
    ) {
        self.routes = routes
        self.traffic = traffic
        self.patience = patience
        self.trustedProxies = trustedProxies
        self.logger = logger
        self.metrics = metrics
    }

    private struct Outcome {
        var response: Response
        var route = "-"
        var problem: Problem?
        var client: ClientAddress?
    }

    /// - Parameter turn: since when nothing else of the same connection is being answered.
    func reply(to arrival: Arrival, peer: ClientAddress, turn: ContinuousClock.Instant) async -> Reply {
        let context = Self.context(of: arrival)
        return await RequestContext.$current.withValue(context) {
            await reply(to: arrival, peer: peer, turn: turn, in: context)
        }
    }

    private static func context(of arrival: Arrival) -> RequestContext {
        switch arrival {
        case .request(let received):
            let headers = received.head.headers
            return RequestContext(
                requestID: id(headers.first(name: "X-Request-Id")), trace: TraceParent(fields: headers["traceparent"]))
        case .refusal(_, let requestID):
            return RequestContext(requestID: id(requestID), trace: nil)
        }
    }

    private func reply(
        to arrival: Arrival, peer: ClientAddress, turn: ContinuousClock.Instant, in context: RequestContext
    ) async -> Reply {
        let start = ContinuousClock.now
        let id = context.requestID
        let method: String
        let outcome: Outcome
        var closes = true
        switch arrival {
        case .request(let received):
            method = received.head.method.rawValue
            outcome = await self.outcome(
                of: received, in: context, peer: peer, waited: start - max(turn, received.arrival))
            closes = received.closes || traffic.isDraining || outcome.problem?.endsConnection == true
        case .refusal(let problem, _):
            method = "-"
            outcome = Outcome(response: problem.response(requestID: id), problem: problem)
        }
        let reply = outcome.response.reply(
            Response.Framing(requestID: id, date: date.text(), closes: closes, omitsBody: method == "HEAD"))
        let exchange = Exchange(
            method: method, route: outcome.route, status: outcome.response.status.rawValue,
            duration: ContinuousClock.now - start, code: outcome.problem?.code, reason: outcome.problem?.reason,
            client: outcome.client, email: context.email)
        exchange.log(to: logger)
        metrics.record(exchange)
        return reply
    }

    private static func id(_ incoming: String?) -> String {
        incoming.flatMap(RequestID.accepted) ?? RequestID.fresh()
    }

    private func outcome(
        of received: ReceivedRequest, in context: RequestContext, peer: ClientAddress, waited: Duration
    ) async -> Outcome {
        let id = context.requestID
        let target = RequestTarget(received.head.uri)
        let client = client(peer, received.head.headers)
        var route = "-"
        do {
            switch routes.resolve(Route.Method(received.head.method), path: target.path) {
            case .notFound: throw Problem(.notFound)
            case .methodNotAllowed(let allow): throw Problem.methodNotAllowed(allow: allow)
            case .found(let match, let parameters):
                route = match.template
                guard waited <= patience || match.priority == .observing else {
                    throw refusal(for: .waitedTooLong)
                }
                guard traffic.enter(match.priority) else { throw refusal(for: .noPlace) }
                metrics.requestBegan()
                defer {
                    traffic.leave()
                    metrics.requestEnded()
                }
                let request = Request(
                    context: context, received: received, target: target, parameters: parameters, client: client,
                    logger: logger)
                return Outcome(response: try await match.handler(request), route: route, client: client)
            }
        } catch {
            let problem = Problem(error) ?? unforeseen(error, route: route)
            return Outcome(
                response: problem.response(requestID: id), route: route, problem: problem, client: client)
        }
    }

    private func refusal(for overload: Overload) -> Problem {
        metrics.refused(for: overload)
        return Problem(.temporarilyUnavailable, reason: overload.rawValue)
    }

    private func client(_ peer: ClientAddress, _ headers: HTTPHeaders) -> ClientAddress {
        guard trustedProxies.contains(peer) else { return peer }
        return trustedProxies.client(of: peer, forwardedFor: headers["X-Forwarded-For"])
    }

    /// Clients learn the request id and nothing else. The log gets what the error says for debugging, which for the errors
    /// of this project never holds what a client sent; control characters of any other don't reach the line.
    private func unforeseen(_ error: any Error, route: String) -> Problem {
        let text = String(
            String(reflecting: error).unicodeScalars.prefix(1000).map { $0.value < 0x20 ? " " : Character($0) })
        logger.error("unforeseen error", metadata: ["error": .string(text), "route": .string(route)])
        return Problem(.internalError)
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
