package import Accounts
package import Logging
import Metrics
package import Storage

/// The worker that has the partitions of the audit trail made for the coming months, beside any number of processes that
/// do the same. Rows of a month without one go to the default partition, where nothing is lost and nothing can be detached.
package final class AuditPartitioner: Sendable {
    private let partitions: AuditPartitions
    private let clock: any WallClock
    private let logger: Logger
    private let monthsAhead = Gauge(label: "countersign_audit_partition_months")

    package init(partitions: AuditPartitions, clock: any WallClock, logger: Logger) {
        self.partitions = partitions
        self.clock = clock
        self.logger = logger
    }

    /// Makes what is missing, and records how many months lie ahead, also when it can't make any.
    package func round() async throws {
        try await report()
        let tried = try await partitions.make()
        for (name, outcome) in tried {
            if outcome == "made" {
                logger.notice("audit partition made", metadata: ["partition": "\(name)"])
            } else {
                logger.warning("audit partition not made", metadata: ["partition": "\(name)", "reason": "\(outcome)"])
            }
        }
        if !tried.isEmpty { try await report() }
    }

    private func report() async throws {
        monthsAhead.record(try await partitions.monthsAhead(by: clock.call(by: .service)))
    }
}
