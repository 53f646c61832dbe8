package import Accounts
package import Curl
import JSON

/// An endpoint as the configuration has it.
package struct WebhookEndpoint: Sendable {
    package let name: String
    package let url: String
    package let types: Set<AccountEvent.Kind>
    /// Each signs.
    package let secrets: [WebhookSecret]

    package init(name: String, url: String, types: Set<AccountEvent.Kind>, secrets: [WebhookSecret]) {
        self.name = name
        self.url = url
        self.types = types
        self.secrets = secrets
    }

    /// The address without what may be a secret.
    package var shownURL: String { String(url.prefix { $0 != "?" }) }
}

/// What became of one attempt.
package enum WebhookOutcome: Equatable, Sendable {
    case delivered(status: Int)
    /// - Parameter retryAfter: the seconds that the receiver asks for.
    case failed(WebhookError, status: Int? = nil, retryAfter: Int64 = 0)
    /// The receiver wants nothing more.
    case gone
    /// Nothing was sent: the process has no place for it in time.
    case busy
    /// Nothing was sent: the process ends.
    case untried
}

/// Why an attempt failed, as `lastError` has it.
package enum WebhookError: Hashable, Sendable, CustomStringConvertible {
    case addressRefused
    case resolveFailed
    case connectFailed
    case tlsFailed
    case timedOut
    case redirected
    case status(Int)

    package var description: String {
        switch self {
        case .addressRefused: "address_refused"
        case .resolveFailed: "resolve_failed"
        case .connectFailed: "connect_failed"
        case .tlsFailed: "tls_failed"
        case .timedOut: "timed_out"
        case .redirected: "redirected"
        case .status(let status): "status_\(status)"
        }
    }
}

/// Sends one event to one endpoint, as Standard Webhooks 1.0.0 says.
package struct WebhookSender: Sendable {
    /// How long an attempt may take.
    package static let timeout = Duration.seconds(15)
    private static let answerBytes = 65_536

    private let fetcher: any Fetcher
    private let targets: WebhookTargets
    private let clock: any WallClock
    private let timeout: Duration

    /// - Parameters:
    ///   - fetcher: one of its own: a kept connection is not asked about again.
    ///   - timeout: of an attempt; tests have less time.
    package init(
        fetcher: any Fetcher, targets: WebhookTargets, clock: any WallClock, timeout: Duration = WebhookSender.timeout
    ) {
        self.fetcher = fetcher
        self.targets = targets
        self.clock = clock
        self.timeout = timeout
    }

    package func send(_ event: FeedEvent, to endpoint: WebhookEndpoint) async -> WebhookOutcome {
        await send(event.body, id: event.id.description, to: endpoint)
    }

    /// Sends an event that is in no feed.
    package func test(_ endpoint: WebhookEndpoint) async -> WebhookOutcome {
        let now = clock.now()
        let id = AccountEventID(now: now).description
        let body = JSONWriter.object { writer in
            writer.member("id", id)
            writer.member("type", "endpoint.test")
            writer.member("timestamp", now.rfc3339)
            writer.name("data")
            writer.object { _ in }
        }
        return await send(body, id: id, to: endpoint)
    }

    private func send(_ body: [UInt8], id: String, to endpoint: WebhookEndpoint) async -> WebhookOutcome {
        let timestamp = clock.now().seconds
        guard let signatures = try? endpoint.secrets.map({ try $0.signature(id: id, timestamp: timestamp, body: body) })
        else { return .untried }
        var request = FetchRequest(
            .post, url: endpoint.url,
            headers: [
                ("Content-Type", "application/json"), ("webhook-id", id), ("webhook-timestamp", "\(timestamp)"),
                ("webhook-signature", signatures.joined(separator: " ")),
            ], body: body, timeout: timeout, connectTimeout: timeout, maximumBodyBytes: Self.answerBytes)
        request.allowsHTTP = true
        request.truncatesBody = true
        let isEncrypted = endpoint.url.hasPrefix("https:")
        request.accepts = { [targets] in targets.accept($0, isEncrypted: isEncrypted) }
        do throws(FetchError) {
            return Self.outcome(of: try await fetcher.fetch(request), at: clock.now())
        } catch {
            return switch error.code {
            case .addressRefused, .protocolRefused, .invalidURL: .failed(.addressRefused)
            case .resolve: .failed(.resolveFailed)
            case .tls: .failed(.tlsFailed)
            case .timedOut: .failed(.timedOut)
            case .connect, .closed, .tooLarge, .invalidHeader, .other: .failed(.connectFailed)
            case .busy: .busy
            case .cancelled, .stopped: .untried
            }
        }
    }

    private static func outcome(of response: FetchResponse, at now: Timestamp) -> WebhookOutcome {
        switch response.status {
        case 200..<300: return .delivered(status: response.status)
        case 410: return .gone
        case 300..<400: return .failed(.redirected, status: response.status)
        default:
            let asked = response.retryAfter(at: now.seconds)
            return .failed(.status(response.status), status: response.status, retryAfter: asked)
        }
    }
}
