import Logging
import Primitives

/// A request and its response, as the log and the metrics record them. Of the client's input it holds personal data
/// marked as such, and nothing else: no path, query, body or header.
struct RequestRecord: Sendable {
    let method: String
    /// The template of the route; `-` if the request matched none.
    let route: String
    let status: Int
    let duration: Duration
    let code: Problem.Code?
    let reason: String?
    /// `nil` if the request was rejected before the address was determined.
    let client: IPAddress?
    let email: String?
    /// Whether a status of 5xx is none to look into.
    var isExpected = false
    /// Requests rejected for overload without a line, since the last one with a line.
    var unlogged = 0

    /// Writes the one line of the request, in its context.
    func log(to logger: Logger) {
        let level: Logger.Level = status >= 500 && !isExpected ? .error : .info
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "method": .string(method), "route": .string(route), "status": .stringConvertible(status),
            "durationMs": .stringConvertible(milliseconds),
        ]
        if let code { metadata["code"] = .string(code.rawValue) }
        if let reason { metadata["reason"] = .string(reason) }
        if unlogged > 0 { metadata["unlogged"] = .stringConvertible(unlogged) }
        if let client { metadata["client"] = .stringConvertible(PersonalText(client)) }
        if let email { metadata["email"] = .stringConvertible(PersonalText(email)) }
        logger.log(level: level, "request", metadata: metadata)
    }

    /// To the microsecond.
    private var milliseconds: Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) * 1000 + Double(attoseconds / 1_000_000_000_000) / 1000
    }
}
