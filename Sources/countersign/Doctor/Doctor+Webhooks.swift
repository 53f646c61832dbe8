import Webhooks

/// The check of the receivers of webhooks.
extension Doctor {
    /// Longer than an attempt takes.
    static let webhookTimeout = WebhookSender.timeout + .seconds(1)

    /// Posts an `endpoint.test` to each, where that is asked for.
    @Sendable func webhooks() async -> [Finding] {
        let webhooks = configuration.reloadable.webhooks
        guard !webhooks.endpoints.isEmpty else { return .ok(.webhooks, "are off: webhooks.endpoints is not set") }
        guard testsWebhooks else {
            return .note(.webhooks, "nothing was posted: --webhooks posts an endpoint.test to each endpoint")
        }
        let sender = WebhookSender(fetcher: fetcher, targets: webhooks.targets, clock: clock)
        return await withTaskGroup(of: Finding.self) { group in
            for endpoint in webhooks.endpoints {
                group.addTask { Self.finding(await sender.test(endpoint), endpoint.name) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.detail < $1.detail }
        }
    }

    private static func finding(_ outcome: WebhookOutcome, _ name: String) -> Finding {
        let error: String
        switch outcome {
        case .delivered(let status): return .ok(.webhooks, "\(name) takes events (status \(status))")
        case .failed(let failure, _, _): error = failure.description
        case .gone: error = WebhookError.status(410).description
        case .busy, .untried: error = "nothing was sent"
        }
        return .warning(
            .webhooks, "\(name) does not take events (\(error))",
            advice: "see its url and secretPath, webhooks.allowedNetworks, and the receiver's log")
    }
}
