import Foundation
import Postgres
import TestSupport
import Testing

@Suite(.fixture(ObservedPool.self), .timeLimit(.minutes(2))) struct CancellationTests {
    var database: Database { ObservedPool.current.database }
    var observer: Database { ObservedPool.current.observer }

    @Test func `a statement that did not begin when its task was cancelled never runs`() async throws {
        let task = Task {
            // Waits for its own cancellation, so that the statement comes after it.
            while !Task.isCancelled { await Task.yield() }
            return await failure { try await database.execute("INSERT INTO t VALUES (1)") }
        }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        try await expect("SELECT count(*) FROM t", is: 0, in: database)
    }

    @Test(.fixture { try await ObservedPool.run(.test(poolSize: 1, pipelineDepth: 1), $0) })
    func `a waiting statement leaves the wait queue at once`() async throws {
        let running = Task {
            await failure { try await database.transaction { try await $0.execute("SELECT pg_sleep(50)") } }
        }
        try await eventually(isRunning("SELECT pg_sleep%"), in: observer)
        let statement = Task { await failure { try await database.execute("INSERT INTO t VALUES (1)") } }
        let transaction = Task { await failure { try await database.transaction { _ in } } }
        while database.statistics.waiting < 2 { await Task.yield() }
        statement.cancel()
        transaction.cancel()
        #expect(await statement.value?.code == .cancelled)
        #expect(await transaction.value?.code == .cancelled)
        #expect(database.statistics == Database.Statistics(busy: 1))
        running.cancel()
        #expect(await running.value?.code == .cancelled)
        try await expect("SELECT count(*) FROM t", is: 0, in: database)
    }

    /// Cancels hit statements in every phase: before they are sent, in flight behind others, running, answered.
    @Test(.fixture { try await ObservedPool.run(.test(poolSize: 2), $0) })
    func `a storm of cancellations mixes no answers up and leaves the connections in place`() async throws {
        func pids() async throws -> Set<Int> {
            var pids: Set<Int> = []
            while pids.count < 2 {
                async let one = backend(of: database)
                async let two = backend(of: database)
                pids.formUnion(try await [one, two])
            }
            return pids
        }
        let before = try await pids()
        let outcomes: [PostgresError.Code?] = try await concurrently(0..<2000) { number in
            let task = Task { () -> PostgresError.Code? in
                do throws(PostgresError) {
                    let rows = try await database.query(
                        """
                        WITH slow AS MATERIALIZED (SELECT pg_sleep(\(Double(number % 3) / 4000)))
                        INSERT INTO t SELECT \(number) FROM slow RETURNING n
                        """, as: Int.self)
                    #expect(rows == [number])
                    return nil
                } catch {
                    return error.code
                }
            }
            if number.isMultiple(of: 3) {
                for _ in 0..<Int.random(in: 0...200) { await Task.yield() }
                task.cancel()
            }
            return await task.value
        }
        let stored = try await database.query("SELECT n FROM t", as: Int.self)
        #expect(Set(stored).count == stored.count)
        for (number, outcome) in outcomes.enumerated() {
            switch outcome {
            case nil: #expect(stored.contains(number))
            case .cancelled: #expect(number.isMultiple(of: 3) && !stored.contains(number))
            // It was sent when its task gave up, and may be there or not.
            case .outcomeUnknown: #expect(number.isMultiple(of: 3))
            case let other: Issue.record("\(number): \(String(describing: other))")
            }
        }
        #expect(try await pids() == before)
    }

    @Test func `a cancelled transaction rolls back and its connection goes on`() async throws {
        let before = try await backend(of: database)
        let task = Task {
            await failure {
                try await database.transaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    try await transaction.execute("SELECT pg_sleep(50)")
                }
            }
        }
        try await eventually(isRunning("SELECT pg_sleep%"), in: observer)
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        try await expect("SELECT count(*) FROM t", is: 0, in: database)
        #expect(try await backend(of: database) == before)
    }

    @Test func `a transaction whose task was cancelled does not commit, though no statement noticed`() async throws {
        let here = Barrier(of: 2)
        let task = Task {
            await failure {
                try await database.transaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    await here.arrive()
                    while !Task.isCancelled { await Task.yield() }
                }
            }
        }
        await here.arrive()
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        try await expect("SELECT count(*) FROM t", is: 0, in: database)
    }

    @Test func `a script can be stopped`() async throws {
        let task = Task {
            await failure {
                try await database.withConnection {
                    try await $0.executeScript(unsafeSQL: "CREATE TABLE u (n int8); SELECT pg_sleep(50);")
                }
            }
        }
        try await eventually(isRunning("%pg_sleep(50)%"), in: observer)
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        try await expect("SELECT count(*) FROM pg_class WHERE relname = 'u'", is: 0, in: database)
    }

    @Test(.fixture { try await ObservedPool.run(.test(poolSize: 1, statementTimeout: .milliseconds(500)), $0) })
    func `the server's statement timeout is an error of the server`() async throws {
        let before = try await backend(of: database)
        await expectFailure(.server(sqlState: "57014")) { try await database.execute("SELECT pg_sleep(50)") }
        #expect(try await backend(of: database) == before)
    }

    @Test(.fixture { try await ObservedPool.run(.test(poolSize: 2, lockTimeout: .milliseconds(20)), $0) })
    func `a lock is waited for no longer than the lock timeout`() async throws {
        try await database.transaction { holder in
            try await holder.execute("LOCK TABLE t")
            await expectFailure(.server(sqlState: "55P03")) { try await database.execute("INSERT INTO t VALUES (1)") }
        }
    }

    @Test(.fixture { try await ObservedPool.run(.test(poolSize: 1, idleInTransactionTimeout: .milliseconds(20)), $0) })
    func `a transaction left idle is ended by the server`() async throws {
        await expectFailure(.connectionLost) {
            try await database.transaction { transaction in
                let pid = try await backend(of: transaction)
                try await eventually(
                    "NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = \(Int32(pid)))", in: observer)
                try await transaction.execute("SELECT 1")
            }
        }
        try await expect("SELECT 7", is: 7, in: database)
    }
}
