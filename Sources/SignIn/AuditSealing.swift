package import Accounts
package import Logging
import Metrics
package import Storage
import Synchronization

/// Seals the audit trail, beside any number of processes that do the same: a row within a second of its commit, unless an
/// older transaction is still open.
package final class AuditSealing: Sendable {
    /// Seconds between two lines in the log about what only an operator can end.
    static let reminder: Int64 = 60

    private let seals: AuditSeals
    private let clock: any WallClock
    private let logger: Logger
    private let oldest = Gauge(label: "countersign_audit_unsealed_seconds")
    private let failures = Counter(label: "countersign_audit_seal_failures_total")
    private let lastReminder = Mutex<Timestamp?>(nil)

    package init(seals: AuditSeals, clock: any WallClock, logger: Logger) {
        self.seals = seals
        self.clock = clock
        self.logger = logger
    }

    /// Seals what is final, if anything waits for it.
    ///
    /// - Returns: whether there may be more at once.
    package func round() async throws -> Bool {
        do {
            let now = clock.now()
            switch try await seals.seal(at: now) {
            case .halted(let halt):
                failures.increment()
                remind(of: halt, at: now)
            case let outcome where outcome.mayHaveMore:
                return true
            case .busy, .sealed: break
            }
            let waiting = try await seals.oldestUnsealed()
            oldest.record(waiting.map { max(0, now.seconds - $0.seconds) } ?? 0)
            return false
        } catch {
            failures.increment()
            throw error
        }
    }

    private func remind(of halt: AuditHalt, at now: Timestamp) {
        let isDue = lastReminder.withLock { last in
            if let last, now < last.advanced(bySeconds: AuditSealing.reminder) { return false }
            last = now
            return true
        }
        if isDue { logger.error("the audit trail is not sealed", metadata: ["reason": "\(halt)"]) }
    }
}
