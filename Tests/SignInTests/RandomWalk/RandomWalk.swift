import Accounts
import Postgres
import SignIn
import TestSupport

/// Walkers on one database that stop together from time to time, so that the invariants can be checked.
struct RandomWalk {
    let world: WalkWorld
    let seed: UInt64
    private(set) var walkers: [RandomWalker]

    init(
        _ world: WalkWorld, seed: UInt64, walkers: Int = 1, operations: [WalkOperation] = WalkOperation.allCases,
        keepsTrace: Bool = false
    ) {
        self.world = world
        self.seed = seed
        self.walkers = (0..<walkers).map {
            RandomWalker(world, number: $0, seed: seed, operations: operations, keepsTrace: keepsTrace)
        }
    }

    /// Broken invariants, with the step after which they were seen and the seed that reproduces them.
    struct Fault: Error, CustomStringConvertible {
        let seed: UInt64
        let step: Int
        let faults: [String]

        var description: String { "seed \(seed), step \(step): \(faults.joined(separator: "; "))" }
    }

    /// Takes `steps` more steps, all walkers together.
    ///
    /// - Parameter pause: the steps between two checks, all walkers together: as many as there are walkers, for a check
    ///   after each step of all. The invariants hold where no change is in progress, so not before all have taken theirs.
    mutating func go(_ steps: Int, pause: Int) async throws {
        var remaining = steps
        while remaining > 0 {
            let since = world.clock.now()
            let round = max(1, min(pause, remaining) / walkers.count)
            walkers = try await concurrently(walkers) { walker in
                var walker = walker
                for _ in 0..<round { try await walker.step() }
                return walker
            }
            remaining -= round * walkers.count
            try await checkInvariants(since: since)
        }
    }

    /// The number of steps taken so far.
    var steps: Int { walkers.reduce(0) { $0 + $1.steps } }

    private func checkInvariants(since: Timestamp) async throws {
        let report = world.memory.takeReport()
        try await world.service.refusals.flush()
        try await WalkLedger.add(report, to: world.database, since: since)
        let broken = try await WalkInvariant.broken(in: world.database, at: world.clock.now())
        var faults = report.faults + broken.map { "\($0.rawValue): \($1)" }.sorted()
        faults += try await WalkFeed.broken(in: world.database).map { "\($0.rawValue): \($1)" }.sorted()
        faults += try await WalkRecord.missing(report.changes, in: world.database, since: since)
        guard faults.isEmpty else { throw Fault(seed: seed, step: steps, faults: faults) }
    }
}
