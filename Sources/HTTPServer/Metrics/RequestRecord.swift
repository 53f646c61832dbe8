import Logging
import Primitives

/// A request and its answer, as the log and the metrics tell of them. Of what a client chose it holds what is personal and
/// marked as that, and nothing else: no path, query, body or header.
struct RequestRecord: Sendable {
    let method: String
    /// The template of the route; `-` when the request was matched to none.
    let route: String
    let status: Int
    let duration: Duration
    let code: Problem.Code?
    let reason: String?
    /// `nil` when nobody looked: the request was refused before.
    let client: ClientAddress?
    let email: String?
    /// Requests refused for overload that left no line, since the last that did.
    var unlogged = 0

    /// Writes the one line of the request, in its context.
    func log(to logger: Logger) {
        let level: Logger.Level = status >= 500 ? .error : .info
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
