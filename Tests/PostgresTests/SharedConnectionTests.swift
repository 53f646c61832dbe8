import TestSupport
import Testing

@testable import Postgres

/// Statements on a shared connection whose tasks give up. No cancel request may follow: it would stop whatever the server
/// is at by then, or a commit's wait for a standby. A relay in front of the server counts the connections; a cancel
/// request would be one more.
@Suite(.sharedFixture(SuiteCluster.self), .timeLimit(.minutes(5))) struct SharedConnectionTests {
    private static let waiting: SQL = "SELECT pg_advisory_xact_lock(7)"
    private static let isWaiting = isRunning("SELECT pg_advisory_xact_lock%")

    /// Runs a closure with a pool behind a relay, and one to observe it that goes around.
    private func withPools(
        _ configuration: Database.Configuration = .test(poolSize: 1),
        _ body: (_ database: Database, _ observer: Database, Relay) async throws -> Void
    ) async throws {
        let cluster = SuiteCluster.current
        let name = try await cluster.makeDatabase()
        let relay = try Relay(to: PrivateCluster.socketDirectory(cluster.url))
        defer { relay.stop() }
        let relayed = ScratchDatabase(url: "postgresql://postgres@127.0.0.1:\(relay.port)/\(name)")
        try await ScratchDatabase(url: cluster.url(of: name)).withPool(.test(poolSize: 2)) { observer in
            try await observer.execute("CREATE TABLE t (n int8)")
            try await relayed.withPool(configuration) { database in try await body(database, observer, relay) }
        }
    }

    @Test func `a statement that its task gives up goes on, and those behind it are answered`() async throws {
        try await withPools(.test(poolSize: 1, pipelineDepth: 3)) { database, observer, relay in
            let before = try await backend(of: database)
            let behind = try await observer.transaction { holder in
                try await holder.execute(Self.waiting)
                let task = Task { await failure { try await database.execute(Self.waiting) } }
                try await eventually(Self.isWaiting, in: observer)
                let behind = (0..<4).map { number in
                    Task { try await database.execute("INSERT INTO t VALUES (\(number))") }
                }
                // Two of them are sent.
                while database.statistics.waiting < 2 { try await pollingPause() }
                task.cancel()
                let error = await task.value
                #expect(error?.code == .outcomeUnknown)
                #expect(error?.isTemporary == true)
                // The task has its answer, and the server is still at the statement.
                try await expect("SELECT (\(Self.isWaiting))::int", is: 1, in: observer)
                return behind
            }
            for task in behind { #expect(try await task.value == 1) }
            try await expect("SELECT count(*) FROM t", is: 4, in: observer)
            #expect(try await backend(of: database) == before)
            #expect(relay.connectionCount == 1)
        }
    }

    @Test func `a statement on a leased connection is stopped by a cancel request, and the connection goes on`()
        async throws
    {
        try await withPools { database, observer, relay in
            let before = try await backend(of: database)
            let task = Task {
                await failure { try await database.transaction { try await $0.execute("SELECT pg_sleep(50)") } }
            }
            try await eventually(isRunning("SELECT pg_sleep%"), in: observer)
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            #expect(try await backend(of: database) == before)
            #expect(relay.connectionCount >= 2)
        }
    }

    @Test func `nothing is sent behind a statement that was given up while another connection is free`() async throws {
        try await withPools(.test(poolSize: 2)) { database, observer, _ in
            try await observer.transaction { holder in
                try await holder.execute(Self.waiting)
                let task = Task { await failure { try await database.execute(Self.waiting) } }
                try await eventually(Self.isWaiting, in: observer)
                task.cancel()
                #expect(await task.value?.code == .outcomeUnknown)
                // More than the other connection takes at a time: what were sent behind would not be answered.
                try await concurrently(0..<50) { number in
                    try await expect("SELECT \(number)", is: number, in: database)
                }
                try await expect("SELECT (\(Self.isWaiting))::int", is: 1, in: observer)
            }
        }
    }

    @Test(arguments: [.seconds(2), nil] as [Duration?])
    func `a connection that does not answer a statement that was given up is closed after a while`(
        statementTimeout: Duration?
    ) async throws {
        try await withPools(.test(poolSize: 1, statementTimeout: statementTimeout)) { database, _, relay in
            let before = try await backend(of: database)
            relay.discard()
            let task = Task { await failure { try await database.execute("SELECT 1") } }
            while !relay.hasDiscarded { try await pollingPause() }
            task.cancel()
            #expect(await task.value?.code == .outcomeUnknown)
            relay.recover()
            #expect(try await backend(of: database) != before)
            #expect(relay.connectionCount == 2)
        }
    }
}
