import Metrics

/// What is counted of deliveries, by endpoint.
struct WebhookMetrics: Sendable {
    /// Of an attempt; those of an error are its ``WebhookError/description``, but for the number of a status.
    private static let results =
        ["delivered", "status", "gone"]
        + [WebhookError.addressRefused, .resolveFailed, .connectFailed, .tlsFailed, .timedOut, .redirected]
        .map(\.description)

    /// Makes the counters of an endpoint, at 0: one that appears with its first event hides that event from `rate`.
    func begin(_ name: String) {
        for result in Self.results { _ = Self.attempts(of: name, result) }
        _ = Self.eventsGivenUp(of: name)
    }

    func count(_ outcome: WebhookOutcome, of name: String) {
        let result: String
        switch outcome {
        case .delivered: result = "delivered"
        case .failed(.status, _, _): result = "status"
        case .failed(let error, _, _): result = error.description
        case .gone: result = "gone"
        case .busy, .untried: return
        }
        Self.attempts(of: name, result).increment()
    }

    func givenUp(of name: String) { Self.eventsGivenUp(of: name).increment() }

    private static func attempts(of name: String, _ result: String) -> Counter {
        Counter(label: "countersign_webhook_attempts_total", dimensions: [("endpoint", name), ("result", result)])
    }

    private static func eventsGivenUp(of name: String) -> Counter {
        Counter(label: "countersign_webhook_given_up_total", dimensions: [("endpoint", name)])
    }
}
