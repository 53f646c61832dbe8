package import Accounts
package import Logging
import Metrics
package import Storage
import Synchronization

/// Seals the audit trail, beside any number of processes that do the same: a row within a second of its commit, unless an
/// older transaction is still open.
package final class AuditSealer: Sendable {
    /// Seconds between two lines in the log about what only an operator can end.
    static let reminder: Int64 = 60

    private let seals: AuditSeals
    private let clock: any WallClock
    private let logger: Logger
    private let oldest = Gauge(label: "countersign_audit_unsealed_seconds")
    private let failures = Counter(label: "countersign_audit_seal_failures_total")
    private let lastReminder = Mutex<Timestamp?>(nil)
    private let seen = Mutex(Seen())

    /// Where the trail ended when this process last looked, when it last said so, and whether it said that others seal.
    private struct Seen {
        var head: AuditHead?
        var lastTold: Timestamp?
        var hasLeft = false
    }

    /// Seconds between two lines in the log that tell where the trail ends: a copy of the head that nobody who changes the
    /// database changes with it.
    static let announcement: Int64 = 3_600

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
            let outcome =
                try await continuesTrail(at: now) ? try await seals.seal(at: now) : SealingOutcome.halted(.headMismatch)
            switch outcome {
            case .halted(.columnsUnknown(let names)):
                deferToLaterRelease(names)
            case .halted(let halt):
                failures.increment()
                logHalt(halt, at: now)
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

    /// Whether the trail ends where it did or further. Seals and head could be taken away together, and all be sealed anew;
    /// but not from the memory of a process that runs.
    private func continuesTrail(at now: Timestamp) async throws -> Bool {
        let head = try await seals.end()
        let (continuesTrail, isNews) = seen.withLock { seen in
            if let known = seen.head {
                guard let head, head.number > known.number || head == known else { return (false, false) }
            }
            seen.head = head
            guard head != nil, seen.lastTold.map({ now >= $0.advanced(bySeconds: AuditSealer.announcement) }) ?? true
            else { return (true, false) }
            seen.lastTold = now
            return (true, true)
        }
        if isNews, let head {
            logger.notice(
                "the audit trail goes up to here",
                metadata: ["head": "\(head.text)", "rows": "\(head.totalCount)"])
        }
        return continuesTrail
    }

    /// Nothing is wrong while releases are in service together, so it is told once. When none of the later one is, the
    /// gauge tells.
    private func deferToLaterRelease(_ columns: [String]) {
        let isNews = seen.withLock { seen in
            defer { seen.hasLeft = true }
            return !seen.hasLeft
        }
        if isNews {
            logger.notice(
                "the audit trail is left to processes of a later release to seal",
                metadata: ["columns": "\(columns.joined(separator: ", "))"])
        }
    }

    private func logHalt(_ halt: AuditHalt, at now: Timestamp) {
        let isDue = lastReminder.withLock { last in
            if let last, now < last.advanced(bySeconds: AuditSealer.reminder) { return false }
            last = now
            return true
        }
        if isDue { logger.error("the audit trail is not sealed", metadata: ["reason": "\(halt)"]) }
    }
}
