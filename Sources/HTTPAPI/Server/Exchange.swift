import Logging

/// A request and its answer, as the log and the metrics tell of them. Holds nothing that a client chose except the request
/// id, which is plain: no path, query, body, header or address.
struct Exchange: Sendable {
    let method: String
    /// The template of the route; `-` when the request was matched to none.
    let route: String
    let status: Int
    let duration: Duration
    let requestID: String
    let code: Problem.Code?
    let reason: String?

    /// Writes the one line that each request gets.
    func log(to logger: Logger) {
        let level: Logger.Level = status >= 500 ? .error : .info
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "method": .string(method), "route": .string(route), "status": .stringConvertible(status),
            "durationMs": .stringConvertible(milliseconds), "requestId": .string(requestID),
        ]
        if let code { metadata["code"] = .string(code.rawValue) }
        if let reason { metadata["reason"] = .string(reason) }
        logger.log(level: level, "request", metadata: metadata)
    }

    /// To the microsecond.
    private var milliseconds: Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) * 1000 + Double(attoseconds / 1_000_000_000_000) / 1000
    }
}
