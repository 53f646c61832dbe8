package import Accounts
package import Logging
import Metrics
package import Storage
import Synchronization

/// The worker that seals the audit trail, beside any number of processes that do the same: a row within a second of its
/// commit, unless an older transaction is still open.
package final class AuditSealer: Sendable {
    /// Seconds between two log lines about a halt, which only an operator can end.
    static let haltLogInterval: Int64 = 60
    /// Seconds between two log lines with the head of the trail: a copy that a change of the database can't alter.
    static let headLogInterval: Int64 = 3_600

    private let seals: AuditSeals
    private let clock: any WallClock
    private let logger: Logger
    private let oldest = Gauge(label: "countersign_audit_unsealed_seconds")
    private let failures = Counter(label: "countersign_audit_seal_failures_total")
    private let haltLoggedAt = Mutex<Timestamp?>(nil)
    private let seen = Mutex(Seen())

    /// The head of the trail that this process last read, when it last logged one, and whether it has logged that other
    /// processes seal.
    private struct Seen {
        var head: AuditHead?
        var headLoggedAt: Timestamp?
        var hasLoggedDeferral = false
    }

    package init(seals: AuditSeals, clock: any WallClock, logger: Logger) {
        self.seals = seals
        self.clock = clock
        self.logger = logger
    }

    /// Seals the rows that are final and not yet sealed.
    ///
    /// - Returns: whether there may be more to seal at once.
    package func round() async throws -> Bool {
        do {
            let call = clock.call(by: .service)
            let now = call.now
            let outcome: SealingOutcome =
                if let halt = try await haltBehindRemembered(at: now) {
                    .halted(halt)
                } else {
                    try await seals.seal(by: call)
                }
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

    /// The reason to stop when the head of the trail is neither the one that was last read, nor a later one. Seals and head
    /// could be deleted together and the trail sealed again, but a running process remembers the head. Logs the head at
    /// intervals.
    private func haltBehindRemembered(at now: Timestamp) async throws -> AuditHalt? {
        let head = try await seals.end()
        let (halt, isLogDue): (AuditHalt?, Bool) = seen.withLock { seen in
            if let known = seen.head {
                guard let head, head.number > known.number || head == known else {
                    return (.behindRemembered(known: known, found: head), false)
                }
            }
            seen.head = head
            guard head != nil, Self.isLogDue(AuditSealer.headLogInterval, after: seen.headLoggedAt, at: now)
            else { return (nil, false) }
            seen.headLoggedAt = now
            return (nil, true)
        }
        if isLogDue, let head {
            logger.notice(
                "audit trail sealed up to head", metadata: ["head": "\(head.text)", "rows": "\(head.totalCount)"])
        }
        return halt
    }

    /// Logged once: nothing is wrong while two releases run together. If no process of the later one runs, the gauge
    /// reports it.
    private func deferToLaterRelease(_ columns: [String]) {
        let isFirst = seen.withLock { seen in
            defer { seen.hasLoggedDeferral = true }
            return !seen.hasLoggedDeferral
        }
        if isFirst {
            logger.notice(
                "audit sealing deferred to processes of a later release",
                metadata: ["columns": "\(columns.joined(separator: ", "))"])
        }
    }

    /// A clock that was set back ends the wait.
    private static func isLogDue(_ interval: Int64, after last: Timestamp?, at now: Timestamp) -> Bool {
        guard let last else { return true }
        return now < last || now >= last.advanced(bySeconds: interval)
    }

    private func logHalt(_ halt: AuditHalt, at now: Timestamp) {
        let isDue = haltLoggedAt.withLock { last in
            guard Self.isLogDue(AuditSealer.haltLogInterval, after: last, at: now) else { return false }
            last = now
            return true
        }
        if isDue { logger.error("audit trail not sealed", metadata: ["reason": "\(halt)"]) }
    }
}
