import Foundation
import TestSupport
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(2))) struct PoolTests {
    var database: Database { .current }
    var scratch: ScratchDatabase { .current }
    var observer: Database { .current }

    /// A transaction that keeps a connection until `release` is called.
    private struct OpenTransaction {
        let task: Task<Void, any Error>
        let mayEnd: Barrier

        static func begin(in database: Database) async -> OpenTransaction {
            let (hasBegun, mayEnd) = (Barrier(of: 2), Barrier(of: 2))
            let task = Task {
                try await database.transaction { transaction in
                    try await transaction.execute("SELECT 1")
                    await hasBegun.arrive()
                    await mayEnd.arrive()
                }
            }
            await hasBegun.arrive()
            return OpenTransaction(task: task, mayEnd: mayEnd)
        }

        func release() async throws {
            await mayEnd.arrive()
            try await task.value
        }
    }

    private func waiting(_ count: Int, in database: Database) async throws {
        while database.statistics.waiting != count { try await pollingPause() }
    }

    @Test(.fixture(Database.self))
    func `ten thousand concurrent statements get their own answers, failures among them`() async throws {
        let wrong = try await concurrently(0..<10_000) { number -> Bool in
            do throws(PostgresError) {
                switch number % 5 {
                case 0:
                    // Fails on the server, alone.
                    try await database.execute("SELECT 1 / (\(number) - \(number))")
                    return true
                case 1:
                    // Fails to be prepared.
                    try await database.execute("SELECT \(number) FROM nowhere")
                    return true
                case 2:
                    let rows = try await database.query("SELECT \(number), \("text \(number)")") {
                        row throws(PostgresError) in try row.decode(Int.self, String.self)
                    }
                    return rows.count != 1 || rows[0] != (number, "text \(number)")
                case 3:
                    let rows = try await database.query("SELECT generate_series(1, \(Int32(number % 7)))") {
                        row throws(PostgresError) in try row.decode(Int.self)
                    }
                    return rows.count != number % 7
                default:
                    // Fails here, when it is read.
                    _ = try await database.query("SELECT \(number)", as: String.self)
                    return true
                }
            } catch {
                switch (number % 5, error.code) {
                case (0, .server("22012")), (1, .server("42P01")), (4, .decoding): return false
                default: return true
                }
            }
        }
        #expect(!wrong.contains(true))
        #expect(database.statistics.waiting == 0)
        #expect(database.statistics.busy == 0)
    }

    @Test func `a pool has as many threads as connections, whatever it does`() async throws {
        let name = "threads"
        func threads() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { task in
                // A thread may end between the listing and the look.
                let title = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
                return title?.hasSuffix("-\(name)\n") == true
            }
        }
        try await ScratchDatabase.withFreshPool(.test(poolSize: 3, applicationName: name)) { database in
            // A thread names itself once it runs.
            while try threads() < 3 { try await pollingPause() }
            try await concurrently(0..<500) { _ in try await database.execute("SELECT 1") }
            #expect(try threads() == 3)
        }
        while try threads() > 0 { try await pollingPause() }
    }

    @Test(.fixture(Database.self)) func `connections are made when they are needed`() async throws {
        #expect(database.statistics == Database.Statistics())
        for _ in 0..<20 { try await database.execute("SELECT 1") }
        #expect(database.statistics == Database.Statistics(idle: 1))
        let transaction = await OpenTransaction.begin(in: database)
        #expect(database.statistics == Database.Statistics(busy: 1))
        try await database.execute("SELECT 1")
        #expect(database.statistics == Database.Statistics(idle: 1, busy: 1))
        try await transaction.release()
        #expect(database.statistics == Database.Statistics(idle: 2))
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1, acquireTimeout: .seconds(1)), $0) })
    func `statements and transactions wait for a full pool no longer than the acquire timeout`() async throws {
        let transaction = await OpenTransaction.begin(in: database)
        let start = ContinuousClock.now
        async let statement = failure { try await database.execute("SELECT 1") }
        async let lease = failure { try await database.transaction { try await $0.execute("SELECT 1") } }
        let errors = await [statement, lease]
        #expect(errors.map { $0?.code } == [.acquireTimedOut, .acquireTimedOut])
        #expect(start.duration(to: .now) >= .seconds(1))
        try await transaction.release()
        try await expect("SELECT 7", is: 7, in: database)
    }

    @Test func `a pool that was shut down is freed, whenever the time of a request that waited would have been over`()
        async throws
    {
        weak var pool: Pool?
        try await ScratchDatabase.withFreshPool(.test(poolSize: 1)) { database in
            pool = database.pool
            let transaction = await OpenTransaction.begin(in: database)
            async let rows = database.execute("SELECT 1")
            try await waiting(1, in: database)
            try await transaction.release()
            _ = try await rows
        }
        while pool != nil { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1, maximumWaiting: 3), $0) })
    func `a request beyond the limit of waiting ones is refused at once`() async throws {
        let transaction = await OpenTransaction.begin(in: database)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 { group.addTask { try await database.execute("SELECT 1") } }
            try await waiting(3, in: database)
            await expectFailure(.queueFull) { try await database.execute("SELECT 1") }
            try await transaction.release()
            for try await rows in group { #expect(rows == 1) }
        }
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 2, pipelineDepth: 2), $0) })
    func `a transaction gets its connection although statements never cease`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    while !Task.isCancelled { _ = try? await database.execute("SELECT pg_sleep(0.001)") }
                }
            }
            for number in 0..<20 {
                try await database.transaction { try await expect("SELECT \(number)", is: number, in: $0) }
            }
            group.cancelAll()
        }
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1), $0) })
    func `statements that wait are served in their order`() async throws {
        try await database.execute("CREATE TABLE t (id int8 GENERATED ALWAYS AS IDENTITY, n int8)")
        let transaction = await OpenTransaction.begin(in: database)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<30 {
                group.addTask { try await database.execute("INSERT INTO t (n) VALUES (\(number))") }
                try await waiting(number + 1, in: database)
            }
            try await transaction.release()
            try await group.waitForAll()
        }
        try await expect("SELECT count(*) FROM t WHERE n <> id - 1", is: 0, in: database)
    }

    @Test(.fixture { try await ScratchDatabase.withFresh($0) })
    func `shutdown refuses what comes, finishes what runs or waits, and returns when all is closed`() async throws {
        var configuration = Database.Configuration.test(poolSize: 1, maximumWaiting: 1)
        configuration.url = scratch.url
        let database = Database(configuration: configuration, logger: .silent)
        try await database.execute("CREATE TABLE t (n int8)")
        let (here, filled) = (Barrier(of: 2), Barrier(of: 2))
        let running = Task {
            try await database.transaction { transaction in
                try await transaction.execute("INSERT INTO t VALUES (1)")
                await here.arrive()
                await filled.arrive()
                // One waits already, so another is refused either way; the reason shows that the shutdown has
                // begun.
                while await failure(of: { try await database.execute("SELECT 1") })?.code != .closed {}
                try await transaction.execute("INSERT INTO t VALUES (2)")
            }
        }
        await here.arrive()
        let queued = Task { try await database.execute("INSERT INTO t VALUES (3)") }
        try await waiting(1, in: database)
        await filled.arrive()
        async let first: Void = database.shutdown()
        async let second: Void = database.shutdown()
        _ = await (first, second)
        try await running.value
        #expect(try await queued.value == 1)
        #expect(database.statistics == Database.Statistics())
        await database.shutdown()
        for error in await [
            failure { try await database.execute("SELECT 1") },
            failure { try await database.transaction { _ in } },
            failure { try await database.withConnection { _ in } },
        ] { #expect(error?.code == .closed) }
        try await scratch.withPool { other in
            try await expect("SELECT count(*) FROM t", is: 3, in: other)
            try await eventually(
                "NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend')",
                in: other)
        }
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1), $0) })
    func `a database without references closes its connections`() async throws {
        do {
            let database = Database(configuration: observer.configuration, logger: .silent)
            try await database.execute("SELECT 1")
        }
        try await eventually(
            "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) = 1", in: observer)
    }
}
