import Accounts
import Metrics

/// The gauges of one kind of outbox rows, as of the last query.
struct BacklogGauges: Sendable {
    private let pending: Gauge
    private let oldest: Gauge
    private let failed: Gauge

    init(kind: String) {
        let dimensions = [("kind", kind)]
        pending = Gauge(label: "countersign_outbox_pending", dimensions: dimensions)
        oldest = Gauge(label: "countersign_outbox_oldest_seconds", dimensions: dimensions)
        failed = Gauge(label: "countersign_outbox_failed", dimensions: dimensions)
    }

    func record(_ backlog: OutboxBacklog, at now: Timestamp) {
        pending.record(backlog.pending)
        oldest.record(max(0, backlog.oldest.map { now.seconds - $0.seconds } ?? 0))
        failed.record(backlog.failed)
    }
}
