import Metrics

/// The metrics of the wait for a connection: how long requests wait, and how many get none.
struct PoolMetrics: Sendable {
    private let waits = Timer(label: "countersign_postgres_wait_seconds")
    private let timedOut = PoolMetrics.refusals("timed_out")
    private let queueFull = PoolMetrics.refusals("queue_full")
    private let writesHeld = PoolMetrics.refusals("writes_held")
    private let notConnected = PoolMetrics.refusals("not_connected")

    private static func refusals(_ reason: String) -> Counter {
        Counter(label: "countersign_postgres_refused_total", dimensions: [("reason", reason)])
    }

    /// Records the wait of statements that a connection's thread has just taken. Those of a transaction have waited as
    /// part of their lease.
    func sent(_ statements: [Statement]) {
        guard !statements.isEmpty else { return }
        let now = ContinuousClock.now
        for statement in statements where statement.lease == nil { waits.record(duration: now - statement.since) }
    }

    /// Records the wait of a granted lease. Refused requests, which are answered by the pool as well, are left to
    /// `count`.
    func answered(_ request: PoolRequest) {
        guard let lease = request as? LeaseRequest, case .success = lease.outcome else { return }
        waits.record(duration: .now - lease.since)
    }

    func count(_ code: PostgresError.Code) {
        switch code {
        case .acquireTimedOut: timedOut.increment()
        case .queueFull: queueFull.increment()
        case .writesHeld: writesHeld.increment()
        case .connectFailed: notConnected.increment()
        default: break
        }
    }
}
