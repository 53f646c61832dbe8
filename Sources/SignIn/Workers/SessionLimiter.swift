package import Accounts
import Metrics
package import Storage
import Synchronization

/// The worker that ends the longest unused sessions of accounts that have more than they may have.
///
/// It looks at the accounts for which sessions were opened since its last look, whichever process opened them; a second
/// process that does the same finds less to do. An account that had too many before, as after the limit was lowered, is
/// looked at when its next session is opened.
package final class SessionLimiter: Sendable {
    /// The sessions looked at in a round.
    private static let page = 5_000
    /// The sessions of an account that a round ends at most.
    static let batch = 1_000
    /// Seconds between a session's id and its commit that are allowed for.
    package static let commitSeconds: Int64 = 5
    /// Seconds before its start that the first round goes back: what a process that was killed had not looked at.
    static let firstLookSeconds: Int64 = 60

    private let store: SessionStore
    private let clock: any WallClock
    private let ended = Counter(label: "countersign_sessions_over_limit_total")
    /// The session behind which the next round begins, and the time of the last one.
    private let position = Mutex<(start: SessionID, time: Timestamp)?>(nil)

    package init(store: SessionStore, clock: any WallClock) {
        self.store = store
        self.clock = clock
    }

    /// Looks at the accounts of sessions that were opened lately. A failure at one of them holds up no other.
    ///
    /// - Parameter limit: the live sessions that an account may have; 0 is no limit.
    /// - Returns: whether there may be more to do at once.
    package func round(limit: Int) async throws -> Bool {
        guard limit > 0 else {
            position.withLock { $0 = nil }
            return false
        }
        let call = clock.call(by: .service)
        let start = start(at: call.now)
        let found = try await store.accounts(
            withMoreThan: limit, openedAfter: start, page: SessionLimiter.page, by: call)
        var hasRest = false
        var failure: (any Error)?
        for account in found.accounts {
            do {
                let count = try await store.endLongestUnused(
                    of: account, keeping: limit, batch: SessionLimiter.batch, by: call)
                ended.increment(by: count)
                hasRest = hasRest || count == SessionLimiter.batch
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        // An account of which a batch ended is looked at once more.
        if hasRest { return true }
        let next = found.last ?? SessionLimiter.bound(SessionLimiter.commitSeconds, before: call.now)
        position.withLock { $0 = (next, call.now) }
        return found.last != nil
    }

    /// Where a round begins: as the first one, if the clock was set back.
    private func start(at now: Timestamp) -> SessionID {
        if let position = position.withLock(\.self), position.time <= now { return position.start }
        return SessionLimiter.bound(SessionLimiter.firstLookSeconds, before: now)
    }

    /// What precedes the ids of the sessions of the last `seconds` (RFC 9562 §5.7).
    private static func bound(_ seconds: Int64, before now: Timestamp) -> SessionID {
        SessionID(now: now.advanced(bySeconds: -seconds), random: [])
    }
}
