import Synchronization

/// The state that the connections of one listener share: how many requests hold a permit, and whether the listener is
/// draining.
///
/// Each priority gets permits up to its share of the capacity, counted over all priorities. So requests that can wait
/// are rejected first, and however many sign-ins there are, some permits are left for requests that take access away.
final class AdmissionController: Sendable {
    private let capacity: Int
    fileprivate let metrics: RequestMetrics
    private let handled = Atomic<Int>(0)
    private let draining = Atomic<Bool>(false)

    init(capacity: Int, metrics: RequestMetrics) {
        self.capacity = capacity
        self.metrics = metrics
    }

    /// A permit for one more request, or `nil`.
    func acquire(_ priority: Route.Priority) -> Permit? {
        guard handled.add(1, ordering: .relaxed).newValue <= priority.share(of: capacity) else {
            release()
            return nil
        }
        return Permit(in: self)
    }

    /// Whether `acquire` would return a permit. Another request may take it in the meantime.
    func hasPermit(for priority: Route.Priority) -> Bool {
        handled.load(ordering: .relaxed) < priority.share(of: capacity)
    }

    /// Whether so few requests are handled that the changes of thread are most of what one costs.
    var isQuiet: Bool { handled.load(ordering: .relaxed) <= 4 }

    fileprivate func release() { handled.subtract(1, ordering: .relaxed) }

    /// Makes each response from now on close its connection.
    func drain() { draining.store(true, ordering: .relaxed) }

    var isDraining: Bool { draining.load(ordering: .relaxed) }
}

/// The admission of one request. It counts against the capacity until it is released, at the latest when it is freed.
final class Permit: Sendable {
    private let admission: AdmissionController
    private let isHeld = Atomic(true)

    fileprivate init(in admission: AdmissionController) {
        self.admission = admission
        admission.metrics.requestBegan()
    }

    /// Has an effect once. `deinit` calls it too, because a connection may be lost before its request is handled.
    func release() {
        guard isHeld.exchange(false, ordering: .relaxed) else { return }
        admission.release()
        admission.metrics.requestEnded()
    }

    deinit { release() }
}

/// The reason for which a request is rejected before it is handled, as the log line and the metrics name it.
enum Overload: String, CaseIterable {
    case noPermit = "no_place"
    case waitedTooLong = "waited_too_long"
    /// The client's network sends as many bodies as it may. Others are served as ever, so it is no error.
    case bodies

    var problem: Problem { Problem(.temporarilyUnavailable, reason: rawValue, isExpected: self == .bodies) }
}

/// The rate limit of log lines for overload rejections of one kind: one line per second. A log that grows with the
/// overload would add to it; the metrics count every rejection.
final class OverloadLog: Sendable {
    private let state = Mutex<(nextLine: ContinuousClock.Instant, unlogged: Int)>((.now, 0))

    /// The number of rejections without a line since the last line, if this rejection is to be logged; `nil` if not.
    func sample(at now: ContinuousClock.Instant) -> Int? {
        state.withLock { state in
            guard now >= state.nextLine else {
                state.unlogged += 1
                return nil
            }
            defer { state = (now + .seconds(1), 0) }
            return state.unlogged
        }
    }

    /// Counts a rejection as one without a line, unless it is to be logged.
    ///
    /// - Returns: `false` for a rejection that is to be logged, which has to be passed to `sample`.
    func skip(at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            guard now < state.nextLine else { return false }
            state.unlogged += 1
            return true
        }
    }
}

extension Route.Priority {
    /// The number of permits up to which requests of this priority are admitted.
    fileprivate func share(of capacity: Int) -> Int {
        switch self {
        case .reading: max(1, capacity / 2)
        case .signingIn: max(1, capacity / 4 * 3)
        case .revoking: capacity
        case .observing: .max
        }
    }
}
