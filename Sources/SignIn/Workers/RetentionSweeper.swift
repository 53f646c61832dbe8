package import Accounts
package import Logging
import Metrics
package import Storage
import Synchronization

/// The worker that deletes rows past their retention, and carries out the replacements of addresses that are due.
///
/// A deleted row is gone for all processes, so the clock of one machine doesn't decide: a process whose clock and the
/// database's differ leaves the work to the others. It can't know which of the two is wrong, and waiting loses nothing.
/// For the same reason replacements are carried out here: a clock that is a day ahead would leave an owner no time to stop
/// one, and a late one does no harm.
package final class RetentionSweeper: Sendable {
    /// Seconds by which the two clocks may differ. Rows that have ended are kept for longer than that, so none is deleted
    /// before it has ended by both clocks; rows deleted at their end, such as the grant of an unspent ticket, go at most
    /// this much too early. It exceeds a machine's drift in days without NTP, and the time that the database takes to answer.
    static let clockTolerance: Int64 = 300
    /// The maximum number of rows of a kind per round. After a round that dealt with fewer in all, the next one can wait.
    static let batch = 200
    /// The number of sessions scanned per round for expired ones.
    private static let page = 2_000

    private let database: ServiceDatabase
    private let lifetimes: SessionLifetimes
    private let clock: any WallClock
    private let logger: Logger
    private let clockDifference = Gauge(label: "countersign_clock_difference_seconds")
    /// Whether the last round was skipped because the clocks differ.
    private let isPaused = Mutex(false)
    private let lastScanned = Mutex<[SessionScan: SessionID]>([:])

    package init(database: ServiceDatabase, lifetimes: SessionLifetimes, clock: any WallClock, logger: Logger) {
        self.database = database
        self.lifetimes = lifetimes
        self.clock = clock
        self.logger = logger
    }

    /// Sweeps, unless this machine's clock and the database's differ.
    ///
    /// - Returns: whether there may be more to delete at once.
    package func round() async throws -> Bool {
        // One reading of the clock for both comparing and sweeping: it may be set at any moment.
        let call = clock.call(by: .service)
        guard clocksAgree(call.now, try await database.databaseTime()) else { return false }
        return try await sweep(by: call) >= RetentionSweeper.batch
    }

    private func clocksAgree(_ now: Timestamp, _ databaseTime: Timestamp) -> Bool {
        let ahead = now.seconds - databaseTime.seconds
        clockDifference.record(ahead)
        let differs = abs(ahead) > RetentionSweeper.clockTolerance
        let isChange = isPaused.withLock { isPaused in
            defer { isPaused = differs }
            return isPaused != differs
        }
        if isChange, differs {
            logger.warning(
                "retention sweep paused, clock differs from the database's",
                metadata: ["reason": "clock_differs", "secondsAhead": "\(ahead)"])
        } else if isChange {
            logger.notice("retention sweep resumed, clock agrees with the database's again")
        }
        return !differs
    }

    /// Sweeps by this machine's clock alone.
    ///
    /// - Returns: the number of rows dealt with.
    package func sweep() async throws -> Int { try await sweep(by: clock.call(by: .service)) }

    /// Sweeps each kind by itself: a failure of one holds up no other.
    private func sweep(by call: Call) async throws -> Int {
        let now = call.now
        let old = now.advanced(bySeconds: -Lifetimes.endedRowRetentionSeconds)
        let batch = RetentionSweeper.batch
        let steps: [() async throws -> Int] = [
            {
                try await self.database.revocations.eraseSubjects(endedBefore: old, limit: batch)
                return 0
            },
            { try await self.database.links.sweep(by: call, endedBefore: old, limit: batch) },
            { try await self.database.mailboxTickets.deleteExpired(before: old, limit: batch) },
            { try await self.database.webRegistrations.deleteExpired(before: now, limit: batch) },
            { try await self.database.webFlows.sweep(by: call, endedBefore: old, limit: batch) },
            { try await self.database.oauthGrants.sweep(by: call, endedBefore: old, limit: batch) },
            { try await self.database.nonces.deleteExpired(before: old, limit: batch) },
            { try await self.database.emailCodes.deleteExpired(before: old, limit: batch) },
            { try await self.database.accounts.deleteExpiredPendingEmails(before: old, limit: batch) },
            { try await self.database.emailReplacements.carryOutDue(by: call, limit: batch) },
            // Without retention: guessing from many networks leaves many of them.
            { try await self.database.limits.deleteFull(before: now, limit: batch) },
            { try await self.sweepSessions(at: now) },
            {
                try await self.database.revocations.deleteDone(
                    before: now.advanced(bySeconds: -Lifetimes.completedRevocationRetentionSeconds), limit: batch)
            },
            { try await self.giveUpMails(expiredBefore: old, by: call) },
            {
                try await self.database.mails.deleteExpired(
                    before: now.advanced(bySeconds: -Lifetimes.failedMailRetentionSeconds), limit: batch)
            },
            {
                try await self.database.providerEvents.forgetUnknownSubjects(by: call, limit: batch)
                return 0
            },
            {
                try await self.database.providerEvents.deleteProcessed(
                    before: now.advanced(bySeconds: -Lifetimes.providerEventRetentionSeconds), limit: batch)
            },
            {
                try await self.database.accounts.deleteRefusedTokens(
                    before: now.advanced(bySeconds: -Lifetimes.refusedTokenRetentionSeconds), limit: batch)
            },
            { try await self.database.signingKeys.deleteExpired(by: call) },
            { try await self.database.consoleSessions.deleteEnded() },
            { try await self.database.consoleStaff.deleteEnded(limit: batch) },
        ]
        var swept = 0
        var failure: (any Error)?
        for step in steps {
            do {
                swept += try await step()
            } catch {
                failure = failure ?? error
            }
        }
        // While others have more to delete they go on, without the pause of a failure.
        if let failure, swept < batch { throw failure }
        return swept
    }

    /// Gives up mails that no worker has given up, and counts them as a worker does.
    private func giveUpMails(expiredBefore old: Timestamp, by call: Call) async throws -> Int {
        let count = try await database.mails.giveUpExpired(before: old, by: call, limit: RetentionSweeper.batch)
        guard count > 0 else { return 0 }
        // Not made before: where mail is off there is no such series.
        Counter(label: "countersign_mails_total", dimensions: [("outcome", "failed")]).increment(by: count)
        logger.error("mails given up", metadata: ["count": "\(count)", "error": "\(MailStore.expired)"])
        return count
    }

    private func sweepSessions(at now: Timestamp) async throws -> Int {
        let old = now.advanced(bySeconds: -Lifetimes.endedSessionRetentionSeconds)
        var deleted = try await database.sessions.deleteEnded(before: old, limit: RetentionSweeper.batch)
        for scan in SessionScan.allCases {
            let shortest =
                switch scan {
                case .all: lifetimes.shortest
                case .browsers: min(lifetimes.shortest, Lifetimes.webSessionIdleSeconds)
                }
            let page = try await database.sessions.deleteExpired(
                scan, before: old, openedBefore: old.advanced(bySeconds: -shortest),
                after: lastScanned.withLock { $0[scan] }, page: RetentionSweeper.page)
            lastScanned.withLock { $0[scan] = page.last }
            deleted += page.deleted
        }
        return deleted
    }
}
