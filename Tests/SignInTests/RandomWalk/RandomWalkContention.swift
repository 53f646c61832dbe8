import Accounts
import Postgres
import TestSupport

/// Fifty walkers that bind, replace, link, unlink and delete on ten accounts at once: five people with two identities at
/// each provider, which they move from account to account.
struct WalkContention {
    let seed: UInt64

    struct Summary {
        let steps: Int
        let deadlocks: Int64
        let outcomes: [String: Int]
    }

    /// - Parameter continues: whether to walk another round, given the steps taken so far.
    func run(while continues: (Int) -> Bool) async throws -> Summary {
        try await ScratchDatabase.withMigrated { scratch in
            var steps = 0
            var outcomes: [String: Int] = [:]
            try await scratch.withPool(.test(poolSize: 16, acquireTimeout: .seconds(300))) { database in
                let policy = WalkPolicy(verifiedEmail: .prompt, strayAccount: .merge)
                let world = try await WalkWorld(people: WalkPerson.crowd(5), policy: policy, database: database)
                var walk = RandomWalk(world, seed: seed, walkers: 50, operations: WalkOperation.contended)
                repeat { try await walk.go(1_000, pause: 1_000) } while continues(walk.steps)
                steps = walk.steps
                outcomes = world.memory.read(\.outcomes)
            }
            let deadlocks = try await scratch.withPool(.test(poolSize: 1), WalkContention.deadlocks(in:))
            return Summary(steps: steps, deadlocks: deadlocks, outcomes: outcomes)
        }
    }

    /// The number of deadlocks that the database has broken. A connection reports its own when it closes, so all others
    /// have to be closed.
    private static func deadlocks(in database: Database) async throws -> Int64 {
        while true {
            let rows = try await database.query(
                """
                SELECT d.deadlocks, (SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database())
                FROM pg_stat_database d
                WHERE d.datname = current_database()
                """, as: Int64.self, Int64.self)
            if let (deadlocks, connections) = rows.first, connections == 1 { return deadlocks }
        }
    }
}
