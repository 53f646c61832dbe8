import Metrics

/// The requests of clients, counted by their outcome. All counters exist from the start, at 0.
package struct OAuthMetrics: Sendable {
    enum Endpoint: String, CaseIterable {
        case authorize
        case consent
        case code
        case refresh
        case check
        case get
        case create
        case userinfo
        case revoke
        case introspect
        case flip
    }

    enum Outcome: String, CaseIterable {
        case done
        /// Refused by a rule, or by the person; the service is in order.
        case refused
        case unavailable
    }

    private let counters: [Endpoint: [Outcome: Counter]]

    package init() {
        counters = Dictionary(
            uniqueKeysWithValues: Endpoint.allCases.map { endpoint in
                let ofEndpoint = Outcome.allCases.map { outcome in
                    let dimensions = [("endpoint", endpoint.rawValue), ("outcome", outcome.rawValue)]
                    return (outcome, Counter(label: "countersign_oauth_requests_total", dimensions: dimensions))
                }
                return (endpoint, Dictionary(uniqueKeysWithValues: ofEndpoint))
            })
    }

    func count(_ endpoint: Endpoint, _ outcome: Outcome) { counters[endpoint]?[outcome]?.increment() }

    /// Runs a request and counts its outcome.
    func counting<Value>(
        _ endpoint: Endpoint, _ body: () async throws(OAuthFailure) -> Value
    ) async throws(OAuthFailure) -> Value {
        do throws(OAuthFailure) {
            let value = try await body()
            count(endpoint, .done)
            return value
        } catch {
            switch error {
            case .unavailable, .fault: count(endpoint, .unavailable)
            default: count(endpoint, .refused)
            }
            throw error
        }
    }
}
