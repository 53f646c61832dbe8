package import Accounts
import Metrics
package import Storage

/// The worker that ends the longest unused sessions of accounts that have more than they may have, and keeps as many of those
/// that are over.
///
/// It looks at the accounts for which sessions were opened since the last look, of whichever process: one looks at a time. An
/// account that had too many before, as after the limit was lowered, is looked at when its next session is opened.
package struct SessionLimiter: Sendable {
    /// The sessions looked at in a round.
    private static let page = 5_000
    /// The sessions of an account that a round ends at most, and those that it deletes.
    static let batch = 1_000
    /// Seconds between a session's id and its commit that are allowed for, with those between two processes' clocks.
    package static let commitSeconds: Int64 = 10
    /// Seconds that a look goes back at most, as the first one does: for what was opened while no process looked.
    static let longestSeconds: Int64 = 3_600
    /// Seconds between looks, from the beginning of one.
    package static let pauseSeconds: Int64 = 20
    /// Seconds after which the look of a process that died is free again.
    package static let lease: Int64 = 60

    private let store: SessionStore
    private let clock: any WallClock
    private let ended = Counter(label: "countersign_sessions_over_limit_total")

    package init(store: SessionStore, clock: any WallClock) {
        self.store = store
        self.clock = clock
    }

    /// Looks at the accounts of sessions that were opened lately, if a look is due. A failure at one of them holds up no
    /// other.
    ///
    /// - Parameter limit: the live sessions that an account may have, and of those that are over; 0 is no limit.
    /// - Returns: whether there may be more to do at once.
    package func round(limit: Int) async throws -> Bool {
        guard limit > 0 else { return false }
        let call = clock.call(by: .service)
        let claimedUntil = call.now.advanced(bySeconds: SessionLimiter.lease)
        let start = try await store.claimLook(
            from: bound(-SessionLimiter.longestSeconds, from: call.now), to: bound(1, from: call.now), by: call,
            claimedUntil: claimedUntil)
        guard let start else { return false }
        do {
            let (position, hasMore) = try await look(from: start, limit: limit, by: call)
            try await store.endLook(
                at: position,
                nextDueAt: hasMore ? call.now : call.now.advanced(bySeconds: SessionLimiter.pauseSeconds),
                claimedUntil: claimedUntil)
            return hasMore
        } catch {
            try? await store.endLook(at: nil, nextDueAt: call.now, claimedUntil: claimedUntil)
            throw error
        }
    }

    /// - Returns: where the next look begins, `nil` for where this one did; and whether it is due at once.
    private func look(
        from start: SessionID, limit: Int, by call: Call
    ) async throws -> (position: SessionID?, hasMore: Bool) {
        let found = try await store.accounts(
            withMoreThan: limit, openedAfter: start, page: SessionLimiter.page, by: call)
        var hasRest = false
        var failure: (any Error)?
        for account in found.accounts {
            do {
                let count = try await store.endLongestUnused(
                    of: account, keeping: limit, batch: SessionLimiter.batch, by: call)
                ended.increment(by: count)
                // Those that it has just ended are among them.
                let deleted = try await store.deleteOver(
                    of: account, keeping: limit, batch: SessionLimiter.batch, by: call)
                hasRest = hasRest || max(count, deleted) == SessionLimiter.batch
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        // An account of which a batch ended, or was deleted, is looked at once more.
        if hasRest { return (nil, true) }
        return (found.last ?? bound(-SessionLimiter.commitSeconds, from: call.now), found.last != nil)
    }

    /// What precedes the ids of the sessions that are opened `seconds` from now (RFC 9562 §5.7).
    private func bound(_ seconds: Int64, from now: Timestamp) -> SessionID {
        SessionID(now: now.advanced(bySeconds: seconds), random: [])
    }
}
