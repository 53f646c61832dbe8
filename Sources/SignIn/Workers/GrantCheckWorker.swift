package import Accounts
package import Logging
import Metrics
import Providers
package import Storage

/// The worker that asks Apple about once a day whether it still honours a refresh token: notifications can be lost, and a
/// person who withdrew must not stay signed in. A Google grant is checked only when a revocation may have ended it.
package struct GrantCheckWorker: Sendable {
    /// The minimum of seconds between two checks of one grant. Apple may throttle more frequent ones.
    package static let interval: Int64 = 86_400
    /// The number of grants that are checked in a round, so that a backlog does not become a flood of requests.
    private static let batch = 20

    private let store: GrantStore
    private let endpoints: TokenEndpoints
    private let clock: any WallClock
    private let logger: Logger
    private let checks = OutcomeCounters<Provider, Outcome>(label: "countersign_grant_checks_total", by: "provider")
    private let overdue = Gauge(label: "countersign_grant_checks_overdue_seconds")
    private let refusedCredentials = RefusedCredentials()

    private enum Outcome: String, CaseIterable {
        case alive
        case doubted
        case dead
        case unavailable
        case notConfigured = "not_configured"
    }

    package init(store: GrantStore, endpoints: TokenEndpoints, clock: any WallClock, logger: Logger) {
        self.store = store
        self.endpoints = endpoints
        self.clock = clock
        self.logger = logger
    }

    /// Checks the grants that are due, a batch at most.
    ///
    /// - Returns: the number of grants that were due.
    package func checkDue() async throws -> Int {
        let call = clock.call(by: .service)
        // A little later every day, so that checks that coincided drift apart.
        let next = call.now.advanced(bySeconds: GrantCheckWorker.interval + .random(in: 0...600))
        let due = try await store.takeChecks(by: call, next: next, limit: GrantCheckWorker.batch)
        logger.report(due.unreadable, in: "provider_grants")
        overdue.record(due.work.map { max(0, call.now.seconds - $0.dueAt.seconds) }.max() ?? 0)
        await withTaskGroup(of: Void.self) { group in
            for check in due.work {
                group.addTask {
                    do {
                        try await self.check(check)
                    } catch {
                        logger.warning(
                            "grant check outcome not stored",
                            metadata: ["identity": "\(check.identityID)", "error": "\(String(reflecting: error))"])
                    }
                }
            }
        }
        return due.work.count + due.unreadable.count
    }

    private func check(_ check: GrantCheck) async throws {
        guard let token = check.refreshToken, let endpoint = endpoints[check.provider] else {
            return checks.count(check.provider, .notConfigured)
        }
        do {
            try await endpoint.check(token, of: check.clientID, at: clock.now())
            checks.count(check.provider, .alive)
            try await store.noteAlive(check)
        } catch let refusal as EndpointRefusal {
            switch refusal {
            case .grantRejected(error: "admin_policy_enforced"):
                // Not for ever: an administrator of the person's domain may allow it again.
                checks.count(check.provider, .unavailable)
            case .grantRejected(let error):
                try await end(check, reason: error)
            case .requestRejected(let error):
                // Apple's answer for a person who withdrew, but for other faults too: it counts the second time.
                guard check.isDoubted else {
                    checks.count(check.provider, .doubted)
                    return try await store.noteDoubt(check, by: clock.call(by: .service))
                }
                try await end(check, reason: error)
            case .clientRejected(let error, let keyID):
                checks.count(check.provider, .unavailable)
                refusedCredentials.log(error, at: check.provider, keyID: keyID, clientID: check.clientID, to: logger)
            case .unavailable, .notConfigured, .credentialRejected:
                checks.count(check.provider, .unavailable)
                logger.warning(
                    "grant not checked",
                    metadata: ["provider": "\(check.provider.rawValue)", "error": "\(refusal.code)"])
            }
        }
    }

    private func end(_ check: GrantCheck, reason: String) async throws {
        checks.count(check.provider, .dead)
        let isOver = try await store.noteDead(check, reason: reason, by: clock.call(by: .service))
        guard isOver else { return }
        logger.notice(
            "authorization over, the provider honours none of its tokens",
            metadata: [
                "provider": "\(check.provider.rawValue)", "identity": "\(check.identityID)", "error": "\(reason)",
            ])
    }
}
