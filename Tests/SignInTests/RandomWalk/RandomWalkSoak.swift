import Foundation
import TestSupport
import Testing

/// The long walks of `Scripts/soak walk` and `Scripts/soak contention`. Skipped otherwise.
@Suite(.serialized) struct RandomWalkSoak {
    private static func amount(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    /// `COUNTERSIGN_WALK_STEPS` steps in all, with the four policies in turn, each on a database of its own.
    @Test(.enabled(if: amount("COUNTERSIGN_WALK_STEPS") != nil), arguments: WalkPolicy.all)
    func `a long walk breaks nothing`(policy: WalkPolicy) async throws {
        let steps = try #require(Self.amount("COUNTERSIGN_WALK_STEPS")) / WalkPolicy.all.count
        let seed = UInt64(Self.amount("COUNTERSIGN_WALK_SEED") ?? .random(in: 0...Int(UInt32.max)))
        try await WalkWorld.run(policy, poolSize: 8) { world in
            let start = ContinuousClock.now
            var walk = RandomWalk(world, seed: seed, walkers: 8)
            var fault: (any Error)?
            do { try await walk.go(steps, pause: 400) } catch { fault = error }
            Self.printSummary(
                "\(policy.testDescription), seed \(seed)", walk.steps, since: start, try await world.deadlocks(),
                world.memory.read(\.outcomes))
            if let fault { throw fault }
        }
    }

    /// `COUNTERSIGN_CONTENTION_SECONDS` seconds.
    @Test(.enabled(if: amount("COUNTERSIGN_CONTENTION_SECONDS") != nil))
    func `fifty at once on ten accounts end in no deadlock for long`() async throws {
        let seconds = try #require(Self.amount("COUNTERSIGN_CONTENTION_SECONDS"))
        let seed = UInt64(Self.amount("COUNTERSIGN_WALK_SEED") ?? .random(in: 0...Int(UInt32.max)))
        let start = ContinuousClock.now
        let summary = try await WalkContention(seed: seed).run { _ in start.duration(to: .now) < .seconds(seconds) }
        Self.printSummary("contention, seed \(seed)", summary.steps, since: start, summary.deadlocks, summary.outcomes)
        #expect(summary.deadlocks == 0)
    }

    private static func printSummary(
        _ name: String, _ steps: Int, since start: ContinuousClock.Instant, _ deadlocks: Int64,
        _ outcomes: [String: Int]
    ) {
        let seconds = start.duration(to: .now) / .seconds(1)
        print(
            "\(name): \(steps) steps in \(Int(seconds)) s, \(Int(Double(steps) / seconds)) a second,",
            "\(deadlocks) deadlocks")
        for (outcome, count) in outcomes.sorted(by: { $0.key < $1.key }) { print("  \(outcome): \(count)") }
    }
}
