package import Accounts
package import KeyRing
import Primitives
package import Storage

/// The feed as it is read from outside: by cursors, and waiting for what comes.
package struct Feed: Sendable {
    /// What is asked for.
    package struct Query: Sendable {
        package var start: Start
        /// None for all.
        package var types: Set<AccountEvent.Kind>
        package var limit: Int
        /// How long an answer without events may take to come.
        package var wait: Duration

        package init(from start: Start, types: Set<AccountEvent.Kind> = [], limit: Int = 100, wait: Duration = .zero) {
            self.start = start
            self.types = types
            self.limit = limit
            self.wait = wait
        }
    }

    package enum Start: Sendable {
        /// The oldest event that is kept.
        case oldest
        /// What comes from now on.
        case now
        case cursor(String)
        /// What follows an event.
        case event(AccountEventID)

        package init(_ text: String?) {
            switch text {
            case nil: self = .oldest
            case "now": self = .now
            case let text?: self = AccountEventID(text).map { .event($0) } ?? .cursor(text)
            }
        }
    }

    package struct Answer: Sendable {
        package let events: [FeedEvent]
        /// Goes on behind them.
        package let next: String
        package let hasMore: Bool
        /// Whether what was asked for had to come first.
        package let hasWaited: Bool
    }

    package enum Refusal: Error, Sendable {
        /// We made no such cursor, and there is no such event.
        case unknownStart
        /// What follows it is not kept any more.
        case expired
        /// Too many wait, of all or by the same key.
        case crowded
    }

    private let store: FeedStore
    private let cursors: FeedCursors
    private let news: FeedNews
    /// By the keys' names.
    private let waiters = FairLimit<String>(running: 64)
    private static let placesOfKey = 16
    /// How often a reader of certain types looks at most.
    private static let pace = Duration.milliseconds(200)

    package init(store: FeedStore, keyRing: KeyRing, news: FeedNews) {
        self.store = store
        self.news = news
        cursors = FeedCursors(keyRing: keyRing)
    }

    /// The events that follow; an empty page when none has come in time. What waits holds no connection of the database.
    ///
    /// - Parameters:
    ///   - key: the name of the key that it is read with; `nil` for none.
    ///   - isWanted: false when who asked has left, who is waited for no longer; asked for once a second or so.
    package func read(
        _ query: Query, by key: String? = nil, while isWanted: @Sendable () async -> Bool = { true }
    ) async throws -> Answer {
        let deadline = ContinuousClock.now + query.wait
        var position = try await position(query.start)
        if case .now = query.start, query.wait == .zero {
            return Answer(events: [], next: try cursors.text(of: position), hasMore: false, hasWaited: false)
        }
        let shares = key.map { [Share(of: $0, Self.placesOfKey)] } ?? []
        let place = query.wait > .zero ? waiters.acquire(shares) : nil
        guard query.wait == .zero || place != nil else { throw Refusal.crowded }
        defer { withExtendedLifetime(place) {} }
        var hasWaited = false
        while true {
            let seen = news.count
            guard let page = try await store.page(after: position, of: query.types, limit: query.limit) else {
                // The oldest has gone since it was looked up.
                guard case .oldest = query.start, let ends = try await store.ends() else { throw Refusal.expired }
                position = max(position, ends.dropped)
                continue
            }
            position = page.next
            let left = ContinuousClock.now.duration(to: deadline)
            if !page.events.isEmpty || left <= .zero || news.isOver {
                return Answer(
                    events: page.events, next: try cursors.text(of: page.next), hasMore: page.hasMore,
                    hasWaited: hasWaited)
            }
            if page.hasMore { continue }
            hasWaited = true
            // What comes may be of other types, many times a second.
            if !query.types.isEmpty { try await Task.sleep(for: min(left, Self.pace)) }
            await news.wait(past: seen, atMost: min(left, FeedNews.longestWait))
            try Task.checkCancellation()
            guard await isWanted() else {
                return Answer(events: [], next: try cursors.text(of: position), hasMore: false, hasWaited: hasWaited)
            }
        }
    }

    private func position(_ start: Start) async throws -> FeedPosition {
        guard let ends = try await store.ends() else { throw Refusal.unknownStart }
        switch start {
        case .oldest: return ends.dropped
        case .now: return ends.last
        case .cursor(let text):
            guard let position = try cursors.position(of: text) else { throw Refusal.unknownStart }
            return position
        case .event(let id):
            if let position = try await store.position(of: id) { return position }
            // One of a day that is gone may have been ours.
            guard ends.dropped > .beginning, let time = id.time, time < ends.dropped.endOfDay else {
                throw Refusal.unknownStart
            }
            throw Refusal.expired
        }
    }
}

extension FeedPosition {
    /// When its day is over. Days are dropped whole, and a process whose clock is ahead names an event by a time behind
    /// its position.
    fileprivate var endOfDay: Timestamp {
        let day: Int64 = 86_400_000_000
        return Timestamp(microseconds: (number / day + 1) * day)
    }
}
