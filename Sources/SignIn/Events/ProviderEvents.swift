package import Accounts
import JOSE
package import Logging
import Metrics
package import Providers
package import Storage

/// The security events that the providers send about people. An event is stored and acknowledged first; any process acts
/// on it afterwards.
package struct ProviderEvents: Sendable {
    private static let batch = 32

    private let apple: AppleProvider?
    private let google: GoogleProvider?
    private let policy: ProviderEventPolicy
    private let store: ProviderEventStore
    private let clock: any WallClock
    private let logger: Logger
    private let backoff: EventBackoff
    private let oldest = Gauge(label: "countersign_provider_events_oldest_seconds")

    /// - Parameter backoff: backoff state inherited from the instance this one replaces; empty if absent.
    package init(
        apple: AppleProvider?, google: GoogleProvider?, policy: ProviderEventPolicy, store: ProviderEventStore,
        backoff: EventBackoff = EventBackoff(), clock: any WallClock, logger: Logger
    ) {
        self.apple = apple
        self.google = google
        self.policy = policy
        self.store = store
        self.backoff = backoff
        self.clock = clock
        self.logger = logger
    }

    // MARK: - Receiving

    /// Verifies a security event token and stores its events. Nothing is written for a token that is refused.
    package func take(_ token: [UInt8], from provider: Provider) async throws(SignInFailure) {
        let call = clock.call(by: .provider)
        let events = try await events(of: token, from: provider, by: call)
        let isNew: Bool
        do {
            isNew = try await store.insert(events, by: call)
        } catch {
            throw SignInFailure(stored: error)
        }
        for event in events {
            count(provider, event.kind?.rawValue ?? "unknown", isNew ? "stored" : "repeated")
        }
    }

    private func events(
        of token: [UInt8], from provider: Provider, by call: Call
    ) async throws(SignInFailure) -> [ProviderEvent] {
        do {
            switch provider {
            case .apple:
                guard let apple else { throw SignInFailure.providerDisabled }
                return try await apple.events(of: token, at: call.now)
            case .google:
                guard let google else { throw SignInFailure.providerDisabled }
                return try await google.events(of: token, at: call.now)
            }
        } catch let refusal as CredentialRefusal {
            count(provider, "unknown", "refused", refusal.reason.rawValue)
            // Without the keys, or before they may be fetched again, the token can't be judged: the sender is to retry.
            guard refusal.reason != .keysUnavailable, refusal.retryAfter == nil else {
                throw .providerUnavailable(retryAfter: refusal.retryAfter ?? 5, reason: refusal.reason.rawValue)
            }
            throw .credentialRejected(refusal.reason, retryAfter: nil)
        } catch let failure as SignInFailure {
            throw failure
        } catch {
            throw .fault(operation: "read events")
        }
    }

    // MARK: - Processing

    /// Acts on stored events, a batch at most.
    ///
    /// - Returns: the number of events; one that failed is left out until its delay has passed.
    package func processPending() async throws -> Int {
        let ids = try await store.pending(limit: ProviderEvents.batch, except: backoff.ids(at: clock.now()))
        for id in ids {
            do {
                let result = try await store.process(id, policy: policy, by: clock.call(by: .provider))
                for event in result.processed { logProcessed(event) }
                logger.report(result.unreadable, in: "provider_events")
                backoff.forget(id)
            } catch {
                backoff.postpone(id, at: clock.now())
                logger.error(
                    "provider event not processed, will retry",
                    metadata: ["event": "\(id)", "error": "\(String(reflecting: error))"])
            }
        }
        return ids.count
    }

    /// Updates the gauge of the backlog.
    package func report() async throws {
        let backlog = try await store.records.backlog()
        oldest.record(max(0, backlog.oldest.map { clock.now().seconds - $0.seconds } ?? 0))
    }

    private func logProcessed(_ event: ProcessedEvent) {
        count(event.provider, event.kind?.rawValue ?? "unknown", event.outcome.rawValue)
        var metadata: Logger.Metadata = [
            "event": "\(event.id)", "provider": "\(event.provider.rawValue)", "outcome": "\(event.outcome.rawValue)",
        ]
        if let kind = event.kind { metadata["kind"] = "\(kind.rawValue)" }
        if event.kind == .verification { metadata["state"] = "\(event.detail ?? "")" }
        logger.notice("provider event processed", metadata: metadata)
    }

    /// - Parameter reason: of a token that is refused.
    private func count(_ provider: Provider, _ kind: String, _ outcome: String, _ reason: String = "-") {
        Counter(
            label: "countersign_provider_events_total",
            dimensions: [
                ("provider", provider.rawValue), ("kind", kind), ("outcome", outcome), ("reason", reason),
            ]
        ).increment()
    }
}
