import Primitives
import Synchronization

/// The state that the connections of one listener share: how many requests hold a permit, and whether the listener is
/// draining.
///
/// Each priority gets permits up to its share of the capacity, counted over all priorities. So requests that can wait
/// are rejected first, and however many sign-ins there are, some permits are left for requests that take access away.
///
/// One network has no more than half of them, and a wide one so many that sign-ins from elsewhere are left some.
final class AdmissionController: Sendable {
    private let capacity: Int
    private let hasShares: Bool
    fileprivate let metrics: RequestMetrics
    private let handled = Atomic<Int>(0)
    private let held = Mutex(HeldPermits())
    private let draining = Atomic<Bool>(false)

    init(limits: ServerLimits, metrics: RequestMetrics) {
        capacity = limits.concurrentRequests
        hasShares = limits.connectionsPerNetwork > 0
        self.metrics = metrics
    }

    /// A permit for one more request.
    ///
    /// - Parameter client: whose networks have a share of the permits; `nil` for none.
    /// - Throws: why there is none.
    func acquire(_ priority: Route.Priority, for client: IPAddress?) throws(Overload) -> Permit {
        guard handled.add(1, ordering: .relaxed).newValue <= priority.share(of: capacity) else {
            release(of: nil)
            throw .noPermit
        }
        let sharer = hasShares && priority != .observing ? client : nil
        if let sharer, !held.withLock({ $0.take(for: sharer, of: capacity) }) {
            release(of: nil)
            throw .share
        }
        return Permit(in: self, of: sharer)
    }

    /// Whether `acquire` would return a permit to a network that has few. Another request may take it in the meantime.
    func hasPermit(for priority: Route.Priority) -> Bool {
        handled.load(ordering: .relaxed) < priority.share(of: capacity)
    }

    /// Whether so few requests are handled that the changes of thread are most of what one costs.
    var isQuiet: Bool { handled.load(ordering: .relaxed) <= 4 }

    fileprivate func release(of sharer: IPAddress?) {
        if let sharer { held.withLock { $0.giveBack(of: sharer) } }
        handled.subtract(1, ordering: .relaxed)
    }

    /// Makes each response from now on close its connection.
    func drain() { draining.store(true, ordering: .relaxed) }

    var isDraining: Bool { draining.load(ordering: .relaxed) }
}

/// How many permits each network has, by its bits, and the wide network around it. They are counted for each request, so
/// without `SharesInUse`, which takes a list.
private struct HeldPermits {
    private var networks: [UInt128: Int] = [:]
    private var wideNetworks: [UInt128: Int] = [:]

    /// - Returns: `false` when one of the client's networks has its share of the capacity.
    mutating func take(for client: IPAddress, of capacity: Int) -> Bool {
        let (network, wideNetwork) = (client.networkBits, client.wideNetworkBits)
        guard networks[network, default: 0] < max(1, capacity / 2),
            wideNetworks[wideNetwork, default: 0] < max(1, capacity * 5 / 8)
        else { return false }
        networks[network, default: 0] += 1
        wideNetworks[wideNetwork, default: 0] += 1
        return true
    }

    mutating func giveBack(of client: IPAddress) {
        Self.decrement(client.networkBits, in: &networks)
        Self.decrement(client.wideNetworkBits, in: &wideNetworks)
    }

    private static func decrement(_ network: UInt128, in counts: inout [UInt128: Int]) {
        let left = counts[network, default: 0] - 1
        counts[network] = left > 0 ? left : nil
    }
}

/// The admission of one request. It counts against the capacity until it is released, at the latest when it is freed.
final class Permit: Sendable {
    private let admission: AdmissionController
    private let sharer: IPAddress?
    private let isHeld = Atomic(true)

    fileprivate init(in admission: AdmissionController, of sharer: IPAddress?) {
        self.admission = admission
        self.sharer = sharer
        admission.metrics.requestBegan()
    }

    /// Has an effect once. `deinit` calls it too, because a connection may be lost before its request is handled.
    func release() {
        guard isHeld.exchange(false, ordering: .relaxed) else { return }
        admission.release(of: sharer)
        admission.metrics.requestEnded()
    }

    deinit { release() }
}

/// The reason for which a request is rejected before it is handled, as the log line and the metrics name it.
enum Overload: String, CaseIterable, Error {
    case noPermit = "no_place"
    case waitedTooLong = "waited_too_long"
    /// The client's network has as many requests handled as it may.
    case share
    /// The client's network sends as many bodies as it may.
    case bodies

    /// Whether one network alone is refused. Others are served, so it is no error.
    var isOfOneNetwork: Bool { self == .share || self == .bodies }

    var problem: Problem { Problem(.temporarilyUnavailable, reason: rawValue, isExpected: isOfOneNetwork) }
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
