import Metrics

/// What is counted of deliveries, by endpoint.
struct WebhookMetrics: Sendable {
    private static func labels(_ name: String, _ more: [(String, String)] = []) -> [(String, String)] {
        [("endpoint", name)] + more
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
        Counter(
            label: "countersign_webhook_attempts_total", dimensions: Self.labels(name, [("result", result)])
        ).increment()
    }

    func givenUp(of name: String) {
        Counter(label: "countersign_webhook_given_up_total", dimensions: Self.labels(name)).increment()
    }
}
