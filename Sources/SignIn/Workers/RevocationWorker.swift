package import Accounts
import JOSE
package import Logging
import Providers
package import Storage

/// Carries out the revocations that the outbox promises, beside any number of processes that do the same.
///
/// A token is revoked at least once: a process that dies between the provider's answer and its own note of it leaves the
/// row to the next one, which asks again about a token that is dead, and both providers take that for done.
package struct RevocationWorker: Sendable {
    /// A row whose process died is free again after so many seconds. Longer than an attempt can take.
    static let lease: Int64 = 30
    private static let batch = 32

    private let store: RevocationStore
    private let endpoints: TokenEndpoints
    private let clock: any WallClock
    private let logger: Logger
    private let backlog = BacklogGauges(kind: "revocation")
    private let attempts = OutcomeCounters<Outcome>(label: "countersign_revocation_attempts_total")

    private enum Outcome: String, CaseIterable {
        case done
        case postponed
        case failed
    }

    package init(store: RevocationStore, endpoints: TokenEndpoints, clock: any WallClock, logger: Logger) {
        self.store = store
        self.endpoints = endpoints
        self.clock = clock
        self.logger = logger
    }

    /// Attempts those at a provider that are due, a batch at most. Each provider has its own, so that one which hangs
    /// holds up nothing of the other's.
    ///
    /// - Returns: how many there were.
    package func attemptDue(at provider: Provider) async throws -> Int {
        let now = clock.now()
        let claimed = try await store.claim(
            at: provider, now: now, claimedUntil: now.advanced(bySeconds: RevocationWorker.lease),
            limit: RevocationWorker.batch)
        logger.report(claimed.unreadable, in: "outbox")
        await attempt(claimed.work, isScheduled: true)
        return claimed.work.count + claimed.unreadable.count
    }

    /// Attempts those of one person, due or not, or waits for whoever is at it until none is left or its task is
    /// cancelled.
    func settle(_ key: IdentityKey) async {
        do {
            while try await store.isPending(of: key), !Task.isCancelled {
                let now = clock.now()
                let claimed = try await store.claim(
                    of: key, at: now, claimedUntil: now.advanced(bySeconds: RevocationWorker.lease))
                logger.report(claimed.unreadable, in: "outbox")
                guard claimed.work.isEmpty else {
                    // In a task of its own: it is not cut short when the wait is, and ends with a note of what came of it.
                    await Task { await attempt(claimed.work, isScheduled: false) }.value
                    return
                }
                try await Task.sleep(for: .milliseconds(100))
            }
        } catch {
            // It stays pending; the sign-in goes on without.
            logger.debug("revocations were not settled", metadata: ["error": "\(error)"])
        }
    }

    /// - Parameter isScheduled: whether a failure puts the next attempt off. What the sign-ins of a person set off must not
    /// use up what the schedule allows.
    private func attempt(_ claimed: [ClaimedRevocation], isScheduled: Bool) async {
        await withTaskGroup(of: Void.self) { group in
            for revocation in claimed {
                group.addTask {
                    do {
                        try await attempt(revocation, isScheduled: isScheduled)
                    } catch {
                        // The database is away. The claim lapses, and whoever comes then asks again.
                        logger.warning(
                            "a revocation's outcome was not stored",
                            metadata: ["revocation": "\(revocation.id)", "error": "\(String(reflecting: error))"])
                    }
                }
            }
        }
    }

    private func attempt(_ revocation: ClaimedRevocation, isScheduled: Bool) async throws {
        let failures = try await withThrowingTaskGroup(of: String?.self, returning: [String].self) { group in
            for grant in revocation.grants {
                group.addTask { try await revoke(grant, of: revocation) }
            }
            return try await group.reduce(into: []) { if let failure = $1 { $0.append(failure) } }
        }
        let now = clock.now()
        guard let failure = failures.first else {
            try await store.finish(revocation, at: now)
            return attempts.count(revocation.key.provider, .done)
        }
        guard isScheduled else { return try await store.release(revocation, error: failure) }
        var metadata: Logger.Metadata = [
            "revocation": "\(revocation.id)", "provider": "\(revocation.key.provider.rawValue)",
            "attempt": "\(revocation.attempt)", "error": "\(failure)",
        ]
        guard let delay = RetrySchedule.delay(after: revocation.failures + 1, jitter: .random(in: 0...1)) else {
            try await store.giveUp(revocation, error: failure, at: now)
            logger.error("a revocation was given up", metadata: metadata)
            return attempts.count(revocation.key.provider, .failed)
        }
        let next = Timestamp(microseconds: now.microseconds + delay)
        try await store.postpone(revocation, error: failure, until: next)
        metadata["nextAttempt"] = "\(next.rfc3339)"
        logger.warning("a revocation has to be repeated", metadata: metadata)
        attempts.count(revocation.key.provider, .postponed)
    }

    /// - Returns: why it failed, as a code.
    private func revoke(
        _ grant: ClaimedRevocation.Grant, of revocation: ClaimedRevocation
    ) async throws -> String? {
        guard let token = grant.refreshToken else { return "key_missing" }
        guard let endpoint = endpoints[revocation.key.provider] else { return "not_configured" }
        do {
            try await endpoint.revoke(token, of: grant.clientID, at: clock.now())
        } catch {
            if case .clientRejected(_, let keyID) = error {
                logger.error(
                    "the provider refuses this service's client credentials; check the key",
                    metadata: ["provider": "\(revocation.key.provider.rawValue)", "key": "\(keyID)"])
            }
            return error.code
        }
        try await store.forget(grant)
        return nil
    }

    /// Tells the metrics how much is waiting.
    package func report() async throws {
        backlog.record(try await store.backlog(), at: clock.now())
    }
}

extension EndpointRefusal {
    /// For the outbox and the log: a fixed word.
    var code: String {
        switch self {
        case .grantRejected(let error), .requestRejected(let error), .clientRejected(let error, _): error
        case .unavailable(let detail): detail
        case .notConfigured: "not_configured"
        case .credentialRejected(let refusal): refusal.reason.rawValue
        }
    }
}
