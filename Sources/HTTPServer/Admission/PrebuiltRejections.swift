import NIOCore

/// The rejections of plain requests for which there is no permit: the same responses and metrics as `Responder`'s,
/// rendered beforehand except for what varies. All connections of a listener share one instance.
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
    private let keepAlive = PrebuiltRejection(closes: false)
    private let closing = PrebuiltRejection(closes: true)

    init(
        of routes: [Route], limits: ServerLimits, admission: AdmissionController, metrics: RequestMetrics,
        log: OverloadLog, date: HTTPDate
    ) {
        operations = routes.filter { route in
            route.priority != .observing && !route.template.contains("{") && route.earlyRefusal == nil
        }.map { route in
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

    /// The response, already counted, which the caller has to send; `nil` when there is a permit, when the request line
    /// is not that of a route without parameters, or when `Responder` has to log the rejection.
    func rejection(of request: RequestPeek, in bytes: Span<UInt8>) -> EncodedResponse? {
        // `reading` has the smallest share: while it gets permits, every priority does.
        guard !admission.hasPermit(for: .reading),
            let operation = operations.first(where: { Self.equals($0.requestLine, bytes, request.line) }),
            !admission.hasPermit(for: operation.priority)
        else { return nil }
        let start = ContinuousClock.now
        guard log.skip(at: start) else { return nil }
        var generator = SystemRandomNumberGenerator()
        let random: UInt64 = generator.next()
        let closes = admission.isDraining || limits.pipelinedRequests <= 1
        let seconds = Problem.Code.shortRetryAfter
        let response = (closes ? closing : keepAlive).encoded(
            requestID: requestID(request, bytes) ?? RequestID.fresh(random: random), date: date.text(),
            retryAfter: seconds.lowerBound + Int(random % UInt64(seconds.count)))
        operation.series.record(Status.serviceUnavailable.rawValue, after: .now - start)
        metrics.requestShed(for: .noPermit)
        return response
    }

    private static func equals(_ text: [UInt8], _ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        text.count == range.count && text.indices.allSatisfy { text[$0] == bytes[range.lowerBound + $0] }
    }

    private func requestID(_ request: RequestPeek, _ bytes: Span<UInt8>) -> String? {
        guard let range = request.requestID, range.count <= RequestID.maximumLength else { return nil }
        return RequestID.accepted(String(decoding: range.map { bytes[$0] }, as: UTF8.self))
    }
}

/// The encoded 503 for want of a permit, as the constant pieces between the values that vary.
struct PrebuiltRejection: Sendable {
    private let closes: Bool
    /// The first five end where these follow: the date, the id, the length of the body, the seconds, the id in the
    /// body.
    private let pieces: [ByteBuffer]
    /// Bytes of the body without the id.
    private let length: Int

    /// Runs before a port is bound, on constants alone: no request can reach its `preconditionFailure`.
    init(closes: Bool) {
        // Placeholders, which the rest of the response doesn't contain.
        let (date, id, seconds) = ("<date>", "<id>", 98_765)
        var problem = Overload.noPermit.problem
        problem.retryAfter = seconds
        let response = problem.response(requestID: id)
        let encoded = response.encoded(.init(requestID: id, date: date, closes: closes, omitsBody: false))
        var rest = String(buffer: encoded.bytes)[...]
        var pieces: [ByteBuffer] = []
        for (name, placeholder) in [
            ("Date: ", date), ("X-Request-Id: ", id), ("Content-Length: ", String(response.body.count)),
            ("Retry-After: ", String(seconds)), ("\"requestId\":\"", id),
        ] {
            guard let range = rest.firstRange(of: name + placeholder) else {
                preconditionFailure("The response has no \(name)\(placeholder).")
            }
            pieces.append(ByteBuffer(string: rest[..<range.lowerBound] + name))
            rest = rest[range.upperBound...]
        }
        self.closes = closes
        self.pieces = pieces + [ByteBuffer(substring: rest)]
        length = response.body.count - id.utf8.count
    }

    /// - Parameter requestID: one that `RequestID` has generated or accepted.
    func encoded(requestID: String, date: String, retryAfter: Int) -> EncodedResponse {
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
