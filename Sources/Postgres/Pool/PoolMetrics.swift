import Metrics

/// How long requests wait for a connection, and how many wait in vain.
struct PoolMetrics: Sendable {
    private let waits = Timer(label: "countersign_postgres_wait_seconds")
    private let timedOut = PoolMetrics.refusals("timed_out")
    private let queueFull = PoolMetrics.refusals("queue_full")
    private let notConnected = PoolMetrics.refusals("not_connected")

    private static func refusals(_ reason: String) -> Counter {
        Counter(label: "countersign_postgres_refused_total", dimensions: [("reason", reason)])
    }

    /// Statements that a connection's thread has just taken. Those of a transaction waited for their lease, and with it.
    func sent(_ statements: [Statement]) {
        guard !statements.isEmpty else { return }
        let now = ContinuousClock.now
        for statement in statements where statement.lease == nil { waits.record(duration: now - statement.since) }
    }

    /// What is answered without a connection's thread: a lease that was granted, or a refusal.
    func answered(_ request: PoolRequest) {
        guard let lease = request as? LeaseRequest, case .success = lease.outcome else { return }
        waits.record(duration: .now - lease.since)
    }

    func count(_ code: PostgresError.Code) {
        switch code {
        case .acquireTimedOut: timedOut.increment()
        case .queueFull: queueFull.increment()
        case .connectFailed: notConnected.increment()
        default: break
        }
    }
}
