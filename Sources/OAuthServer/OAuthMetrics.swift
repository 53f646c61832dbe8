import SignIn

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

    private let counters = OutcomeCounters<Endpoint, StepOutcome>(
        label: "countersign_oauth_requests_total", by: "endpoint")

    package init() {}

    func count(_ endpoint: Endpoint, _ outcome: StepOutcome) { counters.count(endpoint, outcome) }

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
    var outcome: StepOutcome { get }
}

extension OAuthFailure: OAuthRefusal {
    var outcome: StepOutcome {
        switch self {
        case .unavailable, .fault: .unavailable
        default: .refused
        }
    }
}

extension OAuthServer.FlipRefusal: OAuthRefusal {
    var outcome: StepOutcome { if case .failed(let failure) = self { failure.outcome } else { .refused } }
}

extension OAuthServer.UserInfoRefusal: OAuthRefusal {
    var outcome: StepOutcome { if case .failed(let failure) = self { failure.outcome } else { .refused } }
}
