package import Accounts
package import Storage

/// Ends again what had ended before a database was restored to an earlier time.
///
/// ```
///   what a follower of the feed has kept ──▶ by account ──▶ a change each: number, end ──▶ the whole trail: one row
/// ```
/// Each account is a transaction, so it can be interrupted and repeated: what has ended is ended no second time.
package struct Reconciliation: Sendable {
    /// Before the time that was restored to: a transaction commits later than the time of its events.
    private static let slack: Int64 = 300
    private static let pageSize = 500

    private let store: RestoreStore
    private let since: Timestamp
    private let origin: ChangeOrigin
    private var events: [AccountID: [PastEvent]] = [:]
    /// By the events that are older.
    private var reached: [AccountID: ReachedNumber] = [:]
    /// The time of the last event that was handed over.
    package private(set) var last: Timestamp?

    /// - Parameters:
    ///   - since: what the database was restored to.
    ///   - origin: of the operator who has restored it.
    package init(store: RestoreStore, since: Timestamp, origin: ChangeOrigin) {
        self.store = store
        self.since = since
        self.origin = origin
    }

    package mutating func add(_ event: PastEvent) {
        last = max(last ?? event.happenedAt, event.happenedAt)
        guard event.happenedAt >= since.advanced(bySeconds: -Self.slack) else {
            reached[event.accountID, default: ReachedNumber()].add(event)
            return
        }
        events[event.accountID, default: []].append(event)
    }

    /// - Returns: what ended.
    package func run(by clock: any WallClock) async throws -> ReconciledParts {
        var sum = try await begin(by: clock)
        // Before the numbers are raised.
        sum.eventsTooOld = try await store.eventsLacking(reached)
        for (id, events) in events.sorted(by: { $0.key.description < $1.key.description }) {
            sum += try await store.end(
                Self.inOrder(events), of: id, behind: reached[id]?.sequence ?? 0, mergedInto: heir(of: id),
                since: since, by: clock.call(by: origin))
        }
        try await finish("\(events.count) accounts of the feed", by: clock)
        return sum
    }

    /// Ends all sessions, and unlinks all clients of the OAuth server.
    package func endAllSessions(by clock: any WallClock) async throws -> ReconciledParts {
        var sum = try await begin(by: clock)
        var last: AccountID?
        while true {
            let page = try await store.enteredAccounts(after: last, limit: Self.pageSize)
            for id in page { sum += try await store.endSessions(of: id, by: clock.call(by: origin)) }
            guard page.count == Self.pageSize else { break }
            last = page.last
        }
        try await finish("all sessions", by: clock)
        return sum
    }

    /// The account that has in the end what this one had: the last one of its mergers.
    ///
    /// - Returns: the account itself when it was merged into none; `nil` when the last one was deleted.
    private func heir(of id: AccountID) -> AccountID? {
        var (heir, passed) = (id, Set<AccountID>())
        // Where the service ran behind the restore, two accounts may each have been merged into the other.
        while passed.insert(heir).inserted {
            let ended = EndedParts(Self.inOrder(events[heir] ?? []))
            if ended.isDeleted { return nil }
            heir = ended.mergedInto ?? heir
        }
        return heir
    }

    private func begin(by clock: any WallClock) async throws -> ReconciledParts {
        try await store.note(since, by: clock.call(by: origin))
        var parts = ReconciledParts()
        parts.consoleSessions = try await store.endConsoleSessions()
        parts.emailReplacements = try await store.endEmailReplacements(by: clock.call(by: origin))
        return parts
    }

    private func finish(_ what: String, by clock: any WallClock) async throws {
        try await store.bringChecksForward(by: clock.call(by: origin))
        try await store.record("restored to \(since.rfc3339): \(what)", by: clock.call(by: origin))
    }

    /// Each event once. A number may have been given twice, where the service ran behind the restore.
    private static func inOrder(_ events: [PastEvent]) -> [PastEvent] {
        var ids: Set<AccountEventID> = []
        return events.filter { ids.insert($0.id).inserted }
            .sorted { ($0.sequence, $0.happenedAt) < ($1.sequence, $1.happenedAt) }
    }
}
