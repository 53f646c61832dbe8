import Synchronization

/// What the connections of one listener share: how many requests are being handled, and whether the listener is closing.
///
/// Each priority may take its share of the places only, all priorities together counted. So what can wait is refused first,
/// and however many sign in, some places are left for whoever takes access away.
final class Traffic: Sendable {
    private let places: Int
    fileprivate let metrics: RequestMetrics
    private let handled = Atomic<Int>(0)
    private let draining = Atomic<Bool>(false)

    init(places: Int, metrics: RequestMetrics) {
        self.places = places
        self.metrics = metrics
    }

    /// A place for one more request, or `nil`.
    func enter(_ priority: Route.Priority) -> Place? {
        guard handled.add(1, ordering: .relaxed).newValue <= priority.share(of: places) else {
            leave()
            return nil
        }
        return Place(in: self)
    }

    /// Whether one more would get a place, if nobody else took it meanwhile.
    func hasPlace(for priority: Route.Priority) -> Bool {
        handled.load(ordering: .relaxed) < priority.share(of: places)
    }

    fileprivate func leave() { handled.subtract(1, ordering: .relaxed) }

    /// From here on each answer ends its connection.
    func drain() { draining.store(true, ordering: .relaxed) }

    var isDraining: Bool { draining.load(ordering: .relaxed) }
}

/// One of the requests that are being handled, from its arrival to its answer.
final class Place: Sendable {
    private let traffic: Traffic
    private let isTaken = Atomic(true)

    fileprivate init(in traffic: Traffic) {
        self.traffic = traffic
        traffic.metrics.requestBegan()
    }

    /// Once is enough, and what is dropped has left: a connection may be lost before anybody handles its request.
    func leave() {
        guard isTaken.exchange(false, ordering: .relaxed) else { return }
        traffic.leave()
        traffic.metrics.requestEnded()
    }

    deinit { leave() }
}

/// Why a request is refused before anything is done for it: the reason of its log line, and of the metrics.
enum Overload: String, CaseIterable {
    case noPlace = "no_place"
    case waitedTooLong = "waited_too_long"

    var problem: Problem { Problem(.temporarilyUnavailable, reason: rawValue) }
}

/// Which of the requests that are refused for overload leave a line in the log: one in a second. A log that grows with the
/// overload would be a part of it; the metrics count them all.
final class OverloadLog: Sendable {
    private let state = Mutex<(quietUntil: ContinuousClock.Instant, unlogged: Int)>((.now, 0))

    /// How many have left no line since the last that did; nil for one that leaves none itself.
    func takeTurn(at now: ContinuousClock.Instant) -> Int? {
        state.withLock { state in
            guard now >= state.quietUntil else {
                state.unlogged += 1
                return nil
            }
            defer { state = (now + .seconds(1), 0) }
            return state.unlogged
        }
    }

    /// False when the turn is to be taken; else it is counted as one that leaves no line.
    func passesUnlogged(at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            guard now < state.quietUntil else { return false }
            state.unlogged += 1
            return true
        }
    }
}

extension Route.Priority {
    /// How many requests may be handled for one more of this priority to be let in.
    fileprivate func share(of places: Int) -> Int {
        switch self {
        case .reading: max(1, places / 2)
        case .signingIn: max(1, places / 4 * 3)
        case .revoking: places
        case .observing: .max
        }
    }
}
