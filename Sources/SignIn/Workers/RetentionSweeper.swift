package import Accounts
package import Logging
import Metrics
package import Storage
import Synchronization

/// Clears away what has had its time.
///
/// What is deleted is gone for everybody, so the clock of one machine doesn't decide over it: a process whose clock and the
/// database's differ leaves it to the others. It can't know which of the two is wrong, and nothing is lost by waiting.
package final class RetentionSweeper: Sendable {
    /// Seconds by which the two clocks may differ. What has ended is kept for longer than that, so nothing of it goes before
    /// it has ended by either clock; what goes at its end, such as the grant of a ticket that nobody spent, goes so much too
    /// early at most. It is more than a machine strays in days without NTP, and than the database takes to answer.
    static let clockTolerance: Int64 = 300
    /// Seconds for which what has ended is kept for whoever looks into a case: a ticket, a code, whom a revocation was
    /// about. Spent nonces too, so that they are still known to a process whose clock is behind.
    static let retention: Int64 = 3_600
    /// Seconds for which sessions are kept that are over.
    static let sessionRetention: Int64 = 7 * 86_400
    /// Seconds for which revocations are kept that are done.
    static let revocationRetention: Int64 = 90 * 86_400
    /// How many rows of a kind go at a time. Where a sweep has dealt with fewer in all, the next one can wait.
    static let batch = 200
    /// How many sessions are looked through at a time for those that have expired.
    private static let page = 2_000

    private let stores: Stores
    /// Seconds for which a session lives on after its last refresh.
    private let refreshLifetime: Int64
    private let clock: any WallClock
    private let logger: Logger
    private let clockDifference = Gauge(label: "countersign_clock_difference_seconds")
    /// Whether the last round was left out.
    private let isLeftOut = Mutex(false)
    /// Up to where the sessions have been looked through.
    private let walked = Mutex<SessionID?>(nil)

    package init(stores: Stores, refreshLifetime: Int64, clock: any WallClock, logger: Logger) {
        self.stores = stores
        self.refreshLifetime = refreshLifetime
        self.clock = clock
        self.logger = logger
    }

    /// Sweeps, unless this machine's clock and the database's differ.
    ///
    /// - Returns: whether there may be more at once.
    package func round() async throws -> Bool {
        // The time that is compared is the one that is swept by: the clock may be set at any moment.
        let now = clock.now()
        guard agrees(now, try await stores.databaseTime()) else { return false }
        return try await sweep(at: now) >= RetentionSweeper.batch
    }

    private func agrees(_ now: Timestamp, _ databaseTime: Timestamp) -> Bool {
        let ahead = now.seconds - databaseTime.seconds
        clockDifference.record(ahead)
        let differs = abs(ahead) > RetentionSweeper.clockTolerance
        let isNews = isLeftOut.withLock { isLeftOut in
            defer { isLeftOut = differs }
            return isLeftOut != differs
        }
        if isNews, differs {
            logger.warning(
                "nothing is swept: this machine's clock and the database's differ",
                metadata: ["reason": "clock_differs", "secondsAhead": "\(ahead)"])
        } else if isNews {
            logger.notice("sweeping goes on: this machine's clock and the database's agree again")
        }
        return !differs
    }

    /// Sweeps, by this machine's clock alone.
    ///
    /// - Returns: how many rows it dealt with.
    package func sweep() async throws -> Int {
        try await sweep(at: clock.now())
    }

    /// Clears each kind by itself: what can't be cleared holds up nothing else.
    private func sweep(at now: Timestamp) async throws -> Int {
        let old = now.advanced(bySeconds: -RetentionSweeper.retention)
        let batch = RetentionSweeper.batch
        let steps: [() async throws -> Int] = [
            {
                try await self.stores.revocations.eraseSubjects(endedBefore: old, limit: batch)
                return 0
            },
            { try await self.stores.links.sweep(at: now, endedBefore: old, limit: batch) },
            { try await self.stores.nonces.deleteExpired(before: old, limit: batch) },
            { try await self.stores.emailCodes.deleteExpired(before: old, limit: batch) },
            { try await self.stores.accounts.forgetPendingEmails(before: old, limit: batch) },
            // At once: guesses from everywhere leave many of them.
            { try await self.stores.limits.deleteFull(before: now, limit: batch) },
            { try await self.sweepSessions(at: now) },
            {
                try await self.stores.revocations.deleteDone(
                    before: now.advanced(bySeconds: -RetentionSweeper.revocationRetention), limit: batch)
            },
            {
                try await self.stores.mails.deleteExpired(
                    before: now.advanced(bySeconds: -MailWorker.retention), limit: batch)
            },
            {
                try await self.stores.providerEvents.deleteProcessed(
                    before: now.advanced(bySeconds: -ProviderEventStore.retention), limit: batch)
            },
            { try await self.stores.signingKeys.deleteExpired(at: now) },
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
        if let failure { throw failure }
        return swept
    }

    private func sweepSessions(at now: Timestamp) async throws -> Int {
        let old = now.advanced(bySeconds: -RetentionSweeper.sessionRetention)
        let ended = try await stores.sessions.deleteEnded(before: old, limit: RetentionSweeper.batch)
        let walk = try await stores.sessions.deleteExpired(
            before: old, openedBefore: old.advanced(bySeconds: -refreshLifetime), after: walked.withLock(\.self),
            page: RetentionSweeper.page)
        walked.withLock { $0 = walk.last }
        return ended + walk.deleted
    }
}
