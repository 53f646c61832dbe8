import Accounts
import Testing

/// Two parties hold one refresh token, and come in turn: at every interval from a second to twenty minutes, when is it
/// noticed? The clock is the simulation's, the decision the real one.
@Suite struct RefreshSharingTests {
    private static let intervals: ClosedRange<Int64> = 1...1200
    private static let day: Int64 = 86_400

    /// What a holder posts the next time.
    private enum Strategy {
        /// What it was given last: an app does.
        case follows
        /// The token that both have from the start, whatever it was given since.
        case clings
        /// Of what it was given the parent of the newest, if it has that: it knows more than a thief can.
        case trails
    }

    private struct Holder {
        let strategy: Strategy
        let network: Network
        var held: [Int32] = [1]

        init(_ strategy: Strategy, from network: Network) {
            self.strategy = strategy
            self.network = network
        }

        func next(of lineage: RefreshLineage) -> Int32 {
            switch strategy {
            case .follows: held[held.count - 1]
            case .clings: held[0]
            case .trails: held.contains(lineage.parent) ? lineage.parent : held[held.count - 1]
            }
        }
    }

    /// The session's row, and the two who hold its first token.
    private struct Simulation {
        var lineage = RefreshLineage(generation: 1, parent: 0, rotatedAt: Timestamp(seconds: 0))
        var holders: [Holder]

        init(_ holders: Holder...) { self.holders = holders }

        /// Whether the call of a holder shows that there are two.
        mutating func notices(_ holder: Int, at seconds: Int64) -> Bool {
            let now = Timestamp(seconds: seconds)
            switch lineage.presented(holders[holder].next(of: lineage), from: holders[holder].network, at: now) {
            case .renewed(let renewed):
                lineage = renewed
                holders[holder].held.append(renewed.generation)
                return false
            case .reused: return true
            case .unknown, .lost:
                Issue.record("a token was given that is unknown")
                return true
            }
        }

        /// The second in which it is noticed that the two come in turn; `nil` if it isn't for a day.
        mutating func noticed(alternatingEvery interval: Int64) -> Int64? {
            var holder = 0
            for seconds in stride(from: 0, through: RefreshSharingTests.day, by: Int64.Stride(interval)) {
                if notices(holder, at: seconds) { return seconds }
                holder = 1 - holder
            }
            return nil
        }
    }

    private static let networks: [(Network, Network)] = [
        ("192.0.2.0/24", "2001:db8:1:2::/64"), ("192.0.2.0/24", "192.0.2.0/24"),
    ]

    @Test func `two who use what they get are noticed at the third call, unless each comes within a minute`() {
        for (owner, thief) in Self.networks {
            for interval in Self.intervals {
                var simulation = Simulation(Holder(.follows, from: owner), Holder(.follows, from: thief))
                // Each call within a minute is that of a client which has lost an answer.
                let expected = interval <= Lifetimes.refreshRetrySeconds ? nil : 2 * interval
                #expect(simulation.noticed(alternatingEvery: interval) == expected, "every \(interval) s")
            }
        }
    }

    @Test func `of two who come within a minute, the one that misses a turn is noticed at its next`() {
        for (owner, thief) in Self.networks {
            for interval in 1...Lifetimes.refreshRetrySeconds {
                for missing in [0, 1] {
                    var simulation = Simulation(Holder(.follows, from: owner), Holder(.follows, from: thief))
                    for turn: Int64 in 0..<100 {
                        let isNoticed = simulation.notices(Int(turn % 2), at: turn * interval)
                        #expect(!isNoticed, "every \(interval) s")
                    }
                    // The other one has two turns before it is back.
                    let other = 1 - missing
                    let isOtherNoticed = [100, 101].map { simulation.notices(other, at: $0 * interval) }
                    let isNoticed = simulation.notices(missing, at: 102 * interval)
                    #expect(isOtherNoticed == [false, false])
                    #expect(isNoticed, "every \(interval) s, missing \(missing)")
                }
            }
        }
    }

    @Test func `two who go on posting one token run out of replacements, at each interval at a known call`() {
        for (owner, thief) in Self.networks {
            for interval in Self.intervals {
                var simulation = Simulation(Holder(.clings, from: owner), Holder(.clings, from: thief))
                // A successor is replaced by the first call after a minute.
                let callsPerReplacement = Lifetimes.refreshRetrySeconds / interval + 1
                // By turns, or always by the one who came first.
                let isByTurns = owner != thief && callsPerReplacement % 2 == 1
                let replacements: Int64 = isByTurns ? 5 : 11
                #expect(
                    simulation.noticed(alternatingEvery: interval) == replacements * callsPerReplacement * interval,
                    "every \(interval) s")
            }
        }
    }

    @Test func `one who goes on posting the old token beside one who does not is noticed at the fifth call`() {
        for (owner, thief) in Self.networks {
            for interval in Self.intervals {
                let (follows, clings) = (Holder(.follows, from: owner), Holder(.clings, from: thief))
                var ownerFirst = Simulation(follows, clings)
                var thiefFirst = Simulation(clings, follows)
                for noticed in [
                    ownerFirst.noticed(alternatingEvery: interval), thiefFirst.noticed(alternatingEvery: interval),
                ] { #expect(noticed.map { $0 <= 4 * interval } == true, "every \(interval) s: \(noticed ?? -1)") }
            }
        }
    }

    @Test func `a thief who polls is noticed at the owner's next refresh at the latest, whatever is posted`() {
        let refresh: Int64 = 900
        for (owner, thief) in Self.networks {
            for strategy in [Strategy.follows, .clings, .trails] {
                for interval in Self.intervals {
                    var simulation = Simulation(Holder(.follows, from: owner), Holder(strategy, from: thief))
                    var calls = stride(from: Int64(0), through: Self.day, by: Int64.Stride(refresh)).map { ($0, 0) }
                    // Where two calls fall together the owner's comes first.
                    calls += stride(from: interval, through: Self.day, by: Int64.Stride(interval)).map { ($0, 1) }
                    calls.sort { $0 < $1 }
                    let noticed = calls.first { simulation.notices($0.1, at: $0.0) }?.0
                    // Or at the thief's first call, if that comes later.
                    #expect(
                        noticed.map { $0 <= max(refresh, interval) } == true,
                        "\(strategy) every \(interval) s: \(noticed ?? -1)")
                }
            }
        }
    }

    @Test func `a client that loses every answer keeps its session for ten minutes, or through two moves`() {
        var still = Simulation(Holder(.clings, from: "192.0.2.0/24"))
        for minute: Int64 in 0...10 {
            let isNoticed = still.notices(0, at: minute * 61)
            #expect(!isNoticed)
        }
        var moving = RefreshLineage(generation: 1, parent: 0, rotatedAt: Timestamp(seconds: 0))
        let moves: [(Int64, Network)] = [(0, "192.0.2.0/24"), (61, "198.51.100.0/24"), (122, "203.0.113.0/24")]
        for (seconds, network) in moves {
            guard case .renewed(let renewed) = moving.presented(1, from: network, at: Timestamp(seconds: seconds))
            else {
                Issue.record("noticed after \(seconds) s")
                return
            }
            moving = renewed
        }
        // The third answer arrives, and its token is good.
        let used = moving.presented(moving.generation, from: "203.0.113.0/24", at: Timestamp(seconds: 1000))
        #expect(used != .reused)
    }
}
