import Synchronization

/// What the connections of one listener share: how many requests are being handled, and whether the listener is closing.
///
/// Each priority may take its share of the places only, all priorities together counted. So what can wait is refused first,
/// and however many sign in, some places are left for whoever takes access away.
final class AdmissionController: Sendable {
    private let capacity: Int
    fileprivate let metrics: RequestMetrics
    private let handled = Atomic<Int>(0)
    private let draining = Atomic<Bool>(false)

    init(capacity: Int, metrics: RequestMetrics) {
        self.capacity = capacity
        self.metrics = metrics
    }

    /// A place for one more request, or `nil`.
    func acquire(_ priority: Route.Priority) -> Permit? {
        guard handled.add(1, ordering: .relaxed).newValue <= priority.share(of: capacity) else {
            release()
            return nil
        }
        return Permit(in: self)
    }

    /// Whether one more would get a place, if nobody else took it meanwhile.
    func hasPermit(for priority: Route.Priority) -> Bool {
        handled.load(ordering: .relaxed) < priority.share(of: capacity)
    }

    fileprivate func release() { handled.subtract(1, ordering: .relaxed) }

    /// From here on each answer ends its connection.
    func drain() { draining.store(true, ordering: .relaxed) }

    var isDraining: Bool { draining.load(ordering: .relaxed) }
}

/// One of the requests that are being handled, from its arrival to its answer.
final class Permit: Sendable {
    private let admission: AdmissionController
    private let isTaken = Atomic(true)

    fileprivate init(in admission: AdmissionController) {
        self.admission = admission
        admission.metrics.requestBegan()
    }

    /// Once is enough, and what is dropped has left: a connection may be lost before anybody handles its request.
    func release() {
        guard isTaken.exchange(false, ordering: .relaxed) else { return }
        admission.release()
        admission.metrics.requestEnded()
    }

    deinit { release() }
}

/// Why a request is refused before anything is done for it: the reason of its log line, and of the metrics.
enum Overload: String, CaseIterable {
    case noPermit = "no_place"
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
    fileprivate func share(of capacity: Int) -> Int {
        switch self {
        case .reading: max(1, capacity / 2)
        case .signingIn: max(1, capacity / 4 * 3)
        case .revoking: capacity
        case .observing: .max
        }
    }
}
