import Accounts
import Logging
import Primitives
import Storage

/// Pushes one stream to one endpoint while this process has its lease.
///
/// It sends many accounts' events at once, and of one account one after the other. The stream's position is behind what is
/// done; what is done in front of it, out of the order of the feed, comes again after a crash, and not after an end that
/// was asked for. An account of which an event fails is parked at it, in a row, and skipped from then on; tried again, it
/// goes on by itself until it has caught up. So is an account that has many events at once, or it would fill what is read
/// ahead and hold all others back.
actor WebhookPusher {
    /// What all streams of an endpoint share.
    struct Surroundings: Sendable {
        let endpoint: @Sendable () -> WebhookEndpoint?
        let store: WebhookStore
        let feed: FeedStore
        let sender: WebhookSender
        let schedule: @Sendable () -> WebhookSchedule
        let lease: WebhookLease
        let places: WebhookPlaces
        /// Whether an attempt that begins now ends before another process may have the lease.
        let mayBegin: @Sendable () -> Bool
        let metrics: WebhookMetrics
        let clock: any WallClock
        let logger: Logger
    }

    private struct Item: Sendable {
        let event: FeedEvent
        /// Failed ones, of a parked account.
        let attempts: Int
        let isParked: Bool
        /// Whether its account's row is at it.
        let isNoted: Bool
    }

    /// Parked accounts that are looked for at once.
    private static let dueAtOnce = 64
    private static let readAhead = 512
    /// An account that has more of these when one is delivered is parked; and goes on by so many from then on.
    private static let readAheadOfAccount = 16
    /// After as many failures without a success one new event is tried at a time, beside what is parked.
    private static let failuresInARow = 64
    /// The time between two of those.
    private static let probing = Duration.seconds(10)
    /// How often it looks for what is due, and writes how far it has come.
    private static let look = Duration.milliseconds(100)

    private let stream: WebhookStream
    private let around: Surroundings
    private let progress: AsyncSignal
    /// Behind which nothing was read yet.
    private var read: FeedPosition
    private var written: FeedPosition
    /// The last event that was delivered or given up.
    private var furthest: FeedPosition
    /// Those that were wanted last: the endpoint may be gone before what is under way has ended.
    private var types: Set<AccountEvent.Kind> = []
    /// What was read and is not done.
    private var outstanding: Set<FeedPosition> = []
    /// The events of an account that wait for the one that is sent; the first is that one.
    private var queues: [AccountID: [Item]] = [:]
    private var ready: [AccountID] = []
    private var parked: Set<AccountID> = []
    private var failures = 0
    /// Whether a failure was noted since the last success was.
    private var hasFailed = false
    private var mayHaveMore: Bool
    /// Accounts whose rows are being deleted: until that is done the position stays.
    private var leaving = 0
    /// When rows were last looked at and written.
    private var lastLook = ContinuousClock.now.advanced(by: .seconds(-1))
    private var lastNote = ContinuousClock.now.advanced(by: .seconds(-1))
    private var lastProbe = ContinuousClock.now.advanced(by: .seconds(-10))
    private var isOver = false
    /// Whether ``run()`` is over, with all that it had begun.
    private(set) var hasEnded = false

    init(_ stream: WebhookStream, _ around: Surroundings, progress: AsyncSignal) {
        self.stream = stream
        self.around = around
        self.progress = progress
        read = stream.position
        written = stream.position
        furthest = stream.position
        mayHaveMore = stream.end.map { stream.position < $0 } ?? true
    }

    private var isReplay: Bool { stream.end != nil }

    /// Behind the end of a replay there is nothing to read.
    private var isReadToEnd: Bool { stream.end.map { read >= $0 } ?? false }

    /// Pushes until the lease, the endpoint or the process is over, or a replay is done.
    func run() async throws {
        defer { hasEnded = true }
        parked = Set(try await around.store.parkedAccounts(of: stream.id))
        try await withThrowingDiscardingTaskGroup { group in
            while !isOver, !group.isCancelled, !Task.isCancelled, let endpoint = around.endpoint() {
                types = stream.types ?? endpoint.types
                let seen = progress.count
                if lastLook.duration(to: .now) >= Self.look {
                    lastLook = .now
                    try await takeDue()
                    try await writePosition()
                }
                try await fill()
                while around.mayBegin(), let account = ready.first, around.places.take(forReplay: isReplay) {
                    ready.removeFirst()
                    guard let item = queues[account]?.first else {
                        around.places.giveBack(forReplay: isReplay)
                        continue
                    }
                    group.addTask { try await self.attempt(item) }
                }
                if isReplay, !mayHaveMore, outstanding.isEmpty, parked.isEmpty, queues.isEmpty {
                    try await around.store.end(stream.id, under: around.lease)
                    return
                }
                if !around.mayBegin() { return }
                await progress.wait(past: seen, atMost: Self.look)
            }
        }
        try await settle()
    }

    func stop() {
        isOver = true
        progress.raise()
    }

    /// There may be new events.
    func notice() { if !isReadToEnd { mayHaveMore = true } }

    // MARK: Reading

    private func takeDue() async throws {
        // What was read ahead is fewer, and so keeps nothing from its turn.
        guard !parked.isEmpty, ready.count < 2 * Self.readAhead else { return }
        let due = try await around.store.due(
            of: stream.id, at: around.clock.now(), except: Array(queues.keys), limit: Self.dueAtOnce)
        for parked in due where queues[parked.accountID] == nil {
            guard let event = try await kept(parked) else {
                // Its day is over: it can't be sent any more.
                around.logger.error(
                    "webhook missed an event that is not kept any more",
                    metadata: ["endpoint": "\(around.lease.endpoint)", "accountId": "\(parked.accountID)"])
                try await goOn(parked.accountID, behind: parked.position)
                continue
            }
            enqueue(Item(event: event, attempts: parked.attempts, isParked: true, isNoted: true))
        }
    }

    /// One that is replayed by itself may have been given up, and is kept with that when its day is over.
    private func kept(_ parked: ParkedEvent) async throws -> FeedEvent? {
        guard parked.event == nil, stream.end == parked.position else { return parked.event }
        return try await around.store.failedEvent(at: parked.position, of: around.lease.endpoint)
    }

    private func fill() async throws {
        let isProbing = failures >= Self.failuresInARow
        guard mayHaveMore, outstanding.count < Self.readAhead / 2,
            !isProbing || lastProbe.duration(to: .now) >= Self.probing
        else { return }
        if isProbing { lastProbe = .now }
        // Before it is read: what comes meanwhile is noticed.
        mayHaveMore = false
        let wanted = types.count == AccountEvent.Kind.allCases.count ? [] : types
        guard
            let page = try await around.feed.page(after: read, of: wanted, limit: isProbing ? 1 : Self.readAhead)
        else {
            let dropped = try await around.feed.ends()?.dropped ?? read
            around.logger.error(
                "webhook missed events that are not kept any more", metadata: ["endpoint": "\(around.lease.endpoint)"])
            (read, mayHaveMore) = (max(read, dropped), true)
            return
        }
        for event in page.events where stream.end.map({ event.position <= $0 }) ?? true {
            guard !parked.contains(event.accountID) else { continue }
            outstanding.insert(event.position)
            enqueue(Item(event: event, attempts: 0, isParked: false, isNoted: false))
        }
        read = page.next
        if page.hasMore { mayHaveMore = true }
        if let end = stream.end, isReadToEnd { (read, mayHaveMore) = (end, false) }
    }

    private func enqueue(_ item: Item) {
        let account = item.event.accountID
        if queues[account] == nil { ready.append(account) }
        queues[account, default: []].append(item)
    }

    // MARK: Sending

    private func attempt(_ item: Item) async throws {
        defer {
            around.places.giveBack(forReplay: isReplay)
            progress.raise()
        }
        guard let endpoint = around.endpoint() else {
            isOver = true
            return
        }
        let outcome = await around.sender.send(item.event, to: endpoint)
        around.metrics.count(outcome, of: endpoint.name)
        switch outcome {
        case .untried: isOver = true
        case .busy:
            // The other endpoints have all places that there are. Its turn comes again.
            try? await Task.sleep(for: Self.look)
            ready.append(item.event.accountID)
        case .delivered:
            failures = 0
            try await succeeded(item)
        case .gone:
            isOver = true
            let now = around.clock.now()
            _ = try await around.store.note("status_410", of: endpoint.name, at: now)
            try await failed(item, attempts: item.attempts, because: "status_410", next: now)
            try await around.store.stop(endpoint.name, because: "gone")
            around.logger.error("webhook stopped by its receiver", metadata: ["endpoint": "\(endpoint.name)"])
        case .failed(let error, _, let retryAfter):
            failures += 1
            hasFailed = true
            let now = around.clock.now()
            let since = try await around.store.note(error.description, of: endpoint.name, at: now)
            // Not at a first try: for days there may have been nothing to send.
            if item.attempts > 0, let since, since.advanced(bySeconds: Webhooks.failureSeconds) <= now {
                isOver = true
                try await around.store.stop(endpoint.name, because: "failing")
                around.logger.error(
                    "webhook stopped, nothing succeeded for days", metadata: ["endpoint": "\(endpoint.name)"])
            }
            let attempts = item.attempts + 1
            let next = around.schedule().next(after: attempts, at: now, retryAfter: retryAfter)
            if next == nil {
                try await around.store.giveUp(
                    item.event, attempts: attempts, error: error.description, under: around.lease, at: now)
                around.metrics.givenUp(of: endpoint.name)
            }
            try await failed(item, attempts: attempts, because: error.description, next: next)
        }
    }

    private func succeeded(_ item: Item) async throws {
        if hasFailed || lastNote.duration(to: .now) >= .seconds(1) {
            (hasFailed, lastNote) = (false, .now)
            _ = try await around.store.note(nil, of: around.lease.endpoint, at: around.clock.now())
        }
        furthest = max(furthest, item.event.position)
        let account = item.event.accountID
        let left = (queues[account]?.count ?? 1) - 1
        // The queue of a parked account stands until its next events are in it, so that its row is not taken meanwhile.
        if item.isParked && left == 0 { return try await goOn(account, behind: item.event.position) }
        outstanding.remove(item.event.position)
        queues[account]?.removeFirst()
        switch left {
        case 0: queues[account] = nil
        case 1...Self.readAheadOfAccount: ready.append(account)
        default:
            parked.insert(account)
            try await goOn(account, behind: item.event.position)
        }
    }

    /// - Parameter next: when it is tried again; `nil` when it is given up, and the account goes on.
    private func failed(_ item: Item, attempts: Int, because error: String, next: Timestamp?) async throws {
        let account = item.event.accountID
        if let next {
            try await around.store.park(
                ParkedEvent(accountID: account, position: item.event.position, attempts: attempts, event: item.event),
                until: next, error: error, in: stream.id, under: around.lease)
            parked.insert(account)
            outstanding.subtract((queues[account] ?? []).map(\.event.position))
            queues[account] = nil
        } else {
            // What was read of it and waits is found again in the feed.
            furthest = max(furthest, item.event.position)
            parked.insert(account)
            try await goOn(account, behind: item.event.position)
        }
    }

    /// Lets a parked account go on with its next events at once, or with the others when it has caught up.
    private func goOn(_ account: AccountID, behind position: FeedPosition) async throws {
        leaving += 1
        defer { leaving -= 1 }
        let next = try await parkNext(of: account, behind: position)
        outstanding.subtract((queues[account] ?? []).map(\.event.position))
        queues[account] = nil
        for event in next {
            enqueue(Item(event: event, attempts: 0, isParked: true, isNoted: event.position == next.first?.position))
        }
        progress.raise()
    }

    /// Parks an account at its next event; lets it be where it has caught up.
    ///
    /// - Returns: that event and those behind it.
    private func parkNext(of account: AccountID, behind position: FeedPosition) async throws -> [FeedEvent] {
        while true {
            let end = read
            let next = try await around.store.events(
                of: account, after: position, upTo: end, types: types, limit: Self.readAheadOfAccount)
            if let first = next.first {
                try await park(first)
                return next
            }
            guard read == end else { continue }
            try await around.store.unpark(account, in: stream.id, under: around.lease)
            // Meanwhile more may have been read, and left out because the account was parked.
            guard read == end else { continue }
            parked.remove(account)
            return []
        }
    }

    /// Parks an account at its next event, which is due.
    private func park(_ event: FeedEvent) async throws {
        try await around.store.park(
            ParkedEvent(accountID: event.accountID, position: event.position, attempts: 0, event: event),
            until: around.clock.now(), error: nil, in: stream.id, under: around.lease)
    }

    /// Notes all that is done, so that nothing of it comes again: an account whose next event is in front of it is parked there,
    /// and one that is parked moves on to its next one.
    private func settle() async throws {
        for queue in queues.values {
            guard let next = queue.first, !next.isNoted, next.isParked || next.event.position < furthest else {
                continue
            }
            try await park(next.event)
            outstanding.subtract(queue.map(\.event.position))
        }
        try await writePosition()
    }

    private func writePosition() async throws {
        guard leaving == 0 else { return }
        let done: FeedPosition =
            if let first = outstanding.min() { FeedPosition(first.number - 1) } else { read }
        guard done > written else { return }
        try await around.store.advance(stream.id, to: done, under: around.lease)
        written = done
    }
}
