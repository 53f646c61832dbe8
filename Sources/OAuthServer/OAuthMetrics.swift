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
    func counting<Value, Failure: OAuthRefusal>(
        _ endpoint: Endpoint, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        do throws(Failure) {
            let value = try await body()
            count(endpoint, .done)
            return value
        } catch {
            count(endpoint, error.outcome)
            throw error
        }
    }
}

/// What an endpoint refuses a request with.
protocol OAuthRefusal: Error {
    var outcome: OAuthMetrics.Outcome { get }
}

extension OAuthFailure: OAuthRefusal {
    var outcome: OAuthMetrics.Outcome {
        switch self {
        case .unavailable, .fault: .unavailable
        default: .refused
        }
    }
}

extension OAuthServer.FlipRefusal: OAuthRefusal {
    var outcome: OAuthMetrics.Outcome { if case .failed(let failure) = self { failure.outcome } else { .refused } }
}

extension OAuthServer.UserInfoRefusal: OAuthRefusal {
    var outcome: OAuthMetrics.Outcome { if case .failed(let failure) = self { failure.outcome } else { .refused } }
}
