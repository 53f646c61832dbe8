import Synchronization

/// How many places one party may have at once.
package struct Share<Party: Hashable & Sendable>: Sendable {
    package let party: Party
    package let limit: Int

    package init(of party: Party, _ limit: Int) {
        self.party = party
        self.limit = limit
    }
}

/// The places that each party has, none more than its share.
package struct SharesInUse<Party: Hashable & Sendable>: Sendable {
    private var counts: [Party: Int] = [:]

    package init() {}

    package func count(of party: Party) -> Int { counts[party, default: 0] }

    /// Takes a place for all of the parties, or for none.
    ///
    /// - Returns: `false` when one of them has its share.
    package mutating func take(_ shares: [Share<Party>]) -> Bool {
        guard shares.allSatisfy({ count(of: $0.party) < $0.limit }) else { return false }
        for share in shares { counts[share.party, default: 0] += 1 }
        return true
    }

    package mutating func giveBack(_ shares: [Share<Party>]) {
        for share in shares {
            let left = count(of: share.party) - 1
            counts[share.party] = left > 0 ? left : nil
        }
    }
}

/// Work of which only so much runs at a time, and of one party no more than its share of it. A bounded number waits, and is
/// served in turn by party; what is more is turned away at once.
///
/// One party is an account, a network and all of the wider network that it may have to itself, so a caller names several, the
/// widest first. A place that is free goes to the party that was served longest ago (fair queueing), so many callers of one
/// party wait for each other and not others for them, and none is passed without end. When all places to wait are taken, the
/// party with the most of them loses the newest (longest queue drop) to one that has fewer.
///
/// A `FairLimit<Never>` knows no parties.
package final class FairLimit<Party: Hashable & Sendable>: Sendable {
    private struct Waiter {
        let shares: [Share<Party>]
        /// The turn before the latest when it came.
        let arrival: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var running = 0
        var inUse = SharesInUse<Party>()
        /// In the order of arrival.
        var waiting: [Waiter] = []
        /// The turn in which a party that has places got its last one.
        var served: [Party: UInt64] = [:]
        /// The latest.
        var turn: UInt64 = 1

        mutating func serve(_ shares: [Share<Party>]) {
            turn += 1
            for share in shares { served[share.party] = turn }
        }

        mutating func run(_ shares: [Share<Party>]) {
            running += 1
            serve(shares)
        }

        mutating func giveBack(_ shares: [Share<Party>]) {
            inUse.giveBack(shares)
            for share in shares where inUse.count(of: share.party) == 0 { served[share.party] = nil }
        }

        /// The first of the party that was served longest ago.
        ///
        /// A party without a turn, which it loses with its last place, counts as served just before the latest turn when its
        /// waiter came: as the first of all, two that come and go would pass a third one without end. So does the narrower
        /// party that a waiter doesn't name.
        mutating func takeNext() -> Waiter? {
            let width = waiting.map(\.shares.count).max() ?? 0
            let turns = waiting.map { waiter in
                (0..<width).map { index in
                    waiter.shares.dropFirst(index).first.flatMap { served[$0.party] } ?? waiter.arrival
                }
            }
            // `min` finds the first of equals, which has waited longest.
            guard let next = turns.indices.min(by: { turns[$0].lexicographicallyPrecedes(turns[$1]) }) else {
                return nil
            }
            return waiting.remove(at: next)
        }

        /// - Parameter shares: the new caller's.
        /// - Returns: `nil` when no party has two places to wait more than the new caller's, nor a narrower one within the
        ///   same wide one: then a place would only change hands.
        mutating func dropNewest(for shares: [Share<Party>]) -> Waiter? {
            var rivals = Array(waiting.indices)
            for (width, share) in shares.enumerated() {
                let places = Dictionary(grouping: rivals) { waiting[$0].shares.dropFirst(width).first?.party }
                let own = places[share.party] ?? []
                if let most = places.values.max(by: { $0.count < $1.count }), most.count > own.count + 1,
                    let newest = most.last
                {
                    let dropped = waiting.remove(at: newest)
                    giveBack(dropped.shares)
                    return dropped
                }
                rivals = own
            }
            return nil
        }
    }

    private let maximumRunning: Int
    private let maximumWaiting: Int
    private let state = Mutex(State())

    package init(running: Int, waiting: Int = 0) {
        maximumRunning = running
        maximumWaiting = waiting
    }

    /// - Parameter shares: the parties that the work is for, the widest first.
    /// - Returns: `nil` when there is no place, and `work` was not run.
    package func admit<Value, Failure: Error>(
        _ shares: [Share<Party>] = [], _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value? {
        guard await enter(shares) else { return nil }
        defer { leave(shares) }
        return try await work()
    }

    /// Room for work that outlives the call which begins it, freed with the value.
    package final class Place: Sendable {
        private let limit: FairLimit
        private let shares: [Share<Party>]

        fileprivate init(in limit: FairLimit, _ shares: [Share<Party>]) {
            self.limit = limit
            self.shares = shares
        }

        deinit { limit.leave(shares) }
    }

    /// - Returns: `nil` when there is no room now, or one of the parties has its share.
    package func acquire(_ shares: [Share<Party>] = []) -> Place? {
        let isAdmitted = state.withLock { state in
            guard state.running < maximumRunning, state.inUse.take(shares) else { return false }
            state.run(shares)
            return true
        }
        return isAdmitted ? Place(in: self, shares) : nil
    }

    /// How much runs, and how much waits.
    package var occupancy: (running: Int, waiting: Int) { state.withLock { ($0.running, $0.waiting.count) } }

    private func enter(_ shares: [Share<Party>]) async -> Bool {
        await withCheckedContinuation { continuation in
            let (isAdmitted, dropped): (Bool?, Waiter?) = state.withLock { state in
                guard state.inUse.take(shares) else { return (false, nil) }
                if state.running < maximumRunning {
                    state.run(shares)
                    return (true, nil)
                }
                var dropped: Waiter?
                if state.waiting.count >= maximumWaiting {
                    dropped = state.dropNewest(for: shares)
                    guard dropped != nil else {
                        state.giveBack(shares)
                        return (false, nil)
                    }
                }
                state.waiting.append(Waiter(shares: shares, arrival: state.turn - 1, continuation: continuation))
                return (nil, dropped)
            }
            if let isAdmitted { continuation.resume(returning: isAdmitted) }
            dropped?.continuation.resume(returning: false)
        }
    }

    private func leave(_ shares: [Share<Party>]) {
        let next: Waiter? = state.withLock { state in
            state.giveBack(shares)
            guard let next = state.takeNext() else {
                state.running -= 1
                return nil
            }
            state.serve(next.shares)
            return next
        }
        next?.continuation.resume(returning: true)
    }
}
