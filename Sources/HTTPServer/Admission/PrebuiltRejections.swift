import NIOCore

/// The refusals of plain requests for want of a place: the same answer and the same figures that `Responder` gives, of which
/// all is made beforehand that is the same each time. One for all connections of a listener.
final class PrebuiltRejections: Sendable {
    private struct Operation {
        let requestLine: [UInt8]
        let priority: Route.Priority
        let series: RequestMetrics.Series
    }

    let limits: ServerLimits
    private let operations: [Operation]
    private let admission: AdmissionController
    private let metrics: RequestMetrics
    private let log: OverloadLog
    private let date: HTTPDate
    private let open = PrebuiltRejection(closes: false)
    private let last = PrebuiltRejection(closes: true)

    init(
        of routes: [Route], limits: ServerLimits, admission: AdmissionController, metrics: RequestMetrics,
        log: OverloadLog,
        date: HTTPDate
    ) {
        operations = routes.filter { $0.priority != .observing && !$0.template.contains("{") }.map { route in
            Operation(
                requestLine: Array("\(route.method.rawValue) \(route.template) HTTP/1.1".utf8),
                priority: route.priority,
                series: metrics.series(of: route))
        }
        self.limits = limits
        self.admission = admission
        self.metrics = metrics
        self.log = log
        self.date = date
    }

    /// The answer, which has been counted and has to be sent; `nil` when there is a place, when the route is none of those
    /// that are known by their request line, or when the refusal is the one that leaves a line in the log.
    func refusal(of request: RequestPeek, in bytes: Span<UInt8>) -> EncodedResponse? {
        // What can wait the longest is refused first.
        guard !admission.hasPermit(for: .reading),
            let operation = operations.first(where: { Self.equals($0.requestLine, bytes, request.line) }),
            !admission.hasPermit(for: operation.priority)
        else { return nil }
        let arrival = ContinuousClock.now
        guard log.passesUnlogged(at: arrival) else { return nil }
        var generator = SystemRandomNumberGenerator()
        let random: UInt64 = generator.next()
        let closes = admission.isDraining || limits.pipelinedRequests <= 1
        let reply = (closes ? last : open).reply(
            requestID: requestID(request, bytes) ?? RequestID.fresh(random: random), date: date.text(),
            retryAfter: Problem.Code.soon.lowerBound + Int(random % UInt64(Problem.Code.soon.count)))
        operation.series.record(Status.serviceUnavailable.rawValue, after: .now - arrival)
        metrics.refused(for: .noPermit)
        return reply
    }

    private static func equals(_ text: [UInt8], _ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        text.count == range.count && text.indices.allSatisfy { text[$0] == bytes[range.lowerBound + $0] }
    }

    private func requestID(_ request: RequestPeek, _ bytes: Span<UInt8>) -> String? {
        guard let range = request.requestID, range.count <= RequestID.maximumLength else { return nil }
        return RequestID.accepted(String(decoding: range.map { bytes[$0] }, as: UTF8.self))
    }
}

/// The answer to whom there is no place for, in the pieces between what differs from one to the next.
struct PrebuiltRejection: Sendable {
    private let closes: Bool
    /// The first five end before the date, the id, the length of the body, the seconds, and the id in the body.
    private let pieces: [ByteBuffer]
    /// Of the body, without the id.
    private let length: Int

    /// Made before a port is bound, from nothing but source text: no request can meet its precondition.
    init(closes: Bool) {
        // Marks that the rest of the answer doesn't hold.
        let (date, id, seconds) = ("<date>", "<id>", 98_765)
        var problem = Overload.noPermit.problem
        problem.retryAfter = seconds
        let response = problem.response(requestID: id)
        let reply = response.reply(.init(requestID: id, date: date, closes: closes, omitsBody: false))
        var rest = String(buffer: reply.bytes)[...]
        var pieces: [ByteBuffer] = []
        for (name, mark) in [
            ("Date: ", date), ("X-Request-Id: ", id), ("Content-Length: ", String(response.body.count)),
            ("Retry-After: ", String(seconds)), ("\"requestId\":\"", id),
        ] {
            guard let range = rest.firstRange(of: name + mark) else {
                preconditionFailure("There is no \(name)\(mark).")
            }
            pieces.append(ByteBuffer(string: rest[..<range.lowerBound] + name))
            rest = rest[range.upperBound...]
        }
        self.closes = closes
        self.pieces = pieces + [ByteBuffer(substring: rest)]
        length = response.body.count - id.utf8.count
    }

    /// - Parameter requestID: one that `RequestID` has made or accepted.
    func reply(requestID: String, date: String, retryAfter: Int) -> EncodedResponse {
        var buffer = ByteBufferAllocator().buffer(capacity: 768)
        let length = length + requestID.utf8.count
        for (piece, value) in zip(pieces, [date, requestID, String(length), String(retryAfter), requestID]) {
            buffer.writeImmutableBuffer(piece)
            buffer.writeString(value)
        }
        buffer.writeImmutableBuffer(pieces[pieces.count - 1])
        return EncodedResponse(bytes: buffer, closes: closes)
    }
}
