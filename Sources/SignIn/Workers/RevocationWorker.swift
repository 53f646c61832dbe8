package import Accounts
import JOSE
package import Logging
import Providers
package import Storage

/// The worker that sends the revocations of the outbox, beside any number of processes that do the same.
///
/// A token is revoked at least once: a process that dies between the provider's answer and its own commit leaves the row to
/// another one, which sends the dead token again, and both providers answer that as done.
package struct RevocationWorker: Sendable {
    /// Seconds after which the row of a process that died is free again. Longer than an attempt can take.
    static let lease: Int64 = 30
    private static let batch = 32

    private let store: RevocationStore
    private let endpoints: TokenEndpoints
    private let clock: any WallClock
    private let logger: Logger
    private let refusedCredentials = RefusedCredentials()
    private let backlog = BacklogGauges(kind: "revocation")
    private let attempts = OutcomeCounters<Provider, Outcome>(
        label: "countersign_revocation_attempts_total", by: "provider")

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

    /// Attempts the revocations that are due at a provider, a batch at most. Each provider has batches of its own, so that
    /// one that hangs holds up none of the other's.
    ///
    /// - Returns: the number of revocations claimed.
    package func attemptDue(at provider: Provider) async throws -> Int {
        let call = clock.call(by: .service)
        let claimed = try await store.claim(
            at: provider, by: call, lease: RevocationWorker.lease, limit: RevocationWorker.batch)
        report(claimed.unreadable, at: provider)
        await attempt(claimed.work, isScheduled: true)
        return claimed.work.count + claimed.unreadable.count
    }

    private func report(_ unreadable: [UnreadableRow], at provider: Provider) {
        logger.report(unreadable, in: "outbox")
        for _ in unreadable { attempts.count(provider, .failed) }
    }

    /// Attempts the revocations of one person, due or not. While another caller has claimed them, waits until none is left
    /// or the task is cancelled.
    func settle(_ key: IdentityKey) async {
        do {
            while try await store.isPending(of: key), !Task.isCancelled {
                let call = clock.call(by: .service)
                let claimed = try await store.claim(of: key, by: call, lease: RevocationWorker.lease)
                report(claimed.unreadable, at: key.provider)
                guard claimed.work.isEmpty else {
                    // In a task of its own: when the wait is cancelled, the attempt goes on and stores its outcome.
                    await Task { await attempt(claimed.work, isScheduled: false) }.value
                    return
                }
                try await Task.sleep(for: .milliseconds(100))
            }
        } catch {
            // They stay pending; the sign-in goes on without them.
            logger.debug("pending revocations not settled", metadata: ["error": "\(error)"])
        }
    }

    /// - Parameter isScheduled: whether a failure counts in the retry schedule. Attempts that a person's sign-ins cause must
    ///   not use it up.
    private func attempt(_ claimed: [ClaimedRevocation], isScheduled: Bool) async {
        await withTaskGroup(of: Void.self) { group in
            for revocation in claimed {
                group.addTask {
                    do {
                        try await attempt(revocation, isScheduled: isScheduled)
                    } catch {
                        // The database is away. The claim lapses, and a later attempt asks again.
                        logger.warning(
                            "revocation outcome not stored",
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
        let call = clock.call(by: .service)
        guard let failure = failures.first else {
            try await store.finish(revocation, by: call)
            return attempts.count(revocation.key.provider, .done)
        }
        guard isScheduled else { return try await store.release(revocation, error: failure) }
        var metadata: Logger.Metadata = [
            "revocation": "\(revocation.id)", "provider": "\(revocation.key.provider.rawValue)",
            "attempt": "\(revocation.attempt)", "error": "\(failure)",
        ]
        guard let delay = RetrySchedule.delay(after: revocation.failures + 1, jitter: .random(in: 0...1)) else {
            try await store.giveUp(revocation, error: failure, by: call)
            logger.error("revocation given up", metadata: metadata)
            return attempts.count(revocation.key.provider, .failed)
        }
        let next = Timestamp(microseconds: call.now.microseconds + delay)
        try await store.postpone(revocation, error: failure, until: next)
        metadata["nextAttempt"] = "\(next.rfc3339)"
        logger.warning("revocation failed, will retry", metadata: metadata)
        attempts.count(revocation.key.provider, .postponed)
    }

    /// - Returns: why it failed, as a code.
    private func revoke(_ grant: ClaimedRevocation.Grant, of revocation: ClaimedRevocation) async throws -> String? {
        guard let token = grant.refreshToken else { return "key_missing" }
        guard let endpoint = endpoints[revocation.key.provider] else { return "not_configured" }
        do {
            try await endpoint.revoke(token, of: grant.clientID, at: clock.now())
        } catch {
            if case .clientRejected(let refusal, let keyID) = error {
                refusedCredentials.log(
                    refusal, at: revocation.key.provider, keyID: keyID, clientID: grant.clientID, to: logger)
            }
            return error.code
        }
        try await store.forget(grant)
        return nil
    }

    /// Updates the gauges of the backlog.
    package func report() async throws { backlog.record(try await store.backlog(), at: clock.now()) }
}

extension EndpointRefusal {
    /// The code of the refusal for the outbox and the log.
    var code: String {
        switch self {
        case .grantRejected(let error), .requestRejected(let error), .clientRejected(let error, _): error
        case .unavailable(let detail): detail
        case .notConfigured: "not_configured"
        case .credentialRejected(let refusal, _): refusal.reason.rawValue
        }
    }
}
