import TestSupport
import Testing

@testable import Postgres

/// Writes that are refused while commits wait for a standby, and reads that go on.
@Suite(.sharedFixture(WaitingCommits.self), .timeLimit(.minutes(5))) struct HeldWritesTests {
    private var commits: WaitingCommits { .current }

    private func insert(_ number: Int, _ database: Database) -> Task<PostgresError?, Never> {
        Task { await failure { try await database.execute("INSERT INTO t VALUES (\(number))") } }
    }

    private func waitForInFlight(_ observer: Database) async throws {
        try await eventually(WaitingCommits.areThere, in: observer)
    }

    @Test(.fixture(Database.self))
    func `held writes are refused without being sent, alone and in a transaction, and taken afterwards`() async throws {
        let database = Database.current
        try await database.execute("CREATE TABLE t (n int8)")
        database.holdsWrites = true
        await expectFailure(.writesHeld) { try await database.execute("INSERT INTO t VALUES (1)") }
        await expectFailure(.writesHeld) {
            try await database.transaction { transaction in
                #expect(try await count("SELECT count(*) FROM t", in: transaction) == 0)
                try await transaction.execute("UPDATE t SET n = 2")
            }
        }
        // What only reads may be in a transaction too.
        #expect(try await database.transaction { try await count("SELECT 3", in: $0) } == 3)
        try await expect("SELECT count(*) FROM t", is: 0, in: database)
        database.holdsWrites = false
        try await database.execute("INSERT INTO t VALUES (1)")
        try await expect("SELECT count(*) FROM t", is: 1, in: database)
    }

    @Test(.fixture(WaitingCommits.self))
    func `a statement whose commit waits is given up and not cancelled, and a read behind it is answered`()
        async throws
    {
        try await commits.withPools { database, observer in
            let writing = insert(1, database)
            try await waitForInFlight(observer)
            let reading = Task { try await count("SELECT 7", in: database) }
            // Sent behind the statement, on the only connection.
            while database.statistics.waiting > 0 { try await pollingPause() }
            database.holdsWrites = true
            #expect(await writing.value?.code == .outcomeUnknown)
            #expect(try await reading.value == 7)
            try await expect("SELECT (\(WaitingCommits.areThere))::int", is: 1, in: observer)
            try await commits.letGo()
            try await eventually("NOT \(WaitingCommits.areThere)", in: observer)
            try await expect("SELECT count(*) FROM t", is: 1, in: observer)
        }
    }

    @Test func `a COMMIT that waits is given up, and its connection is replaced`() async throws {
        try await commits.withPools { database, observer in
            let task = Task {
                await failure {
                    try await database.transaction(retries: 3) { try await $0.execute("INSERT INTO t VALUES (1)") }
                }
            }
            try await waitForInFlight(observer)
            database.holdsWrites = true
            let error = await task.value
            #expect(error?.code == .outcomeUnknown)
            #expect(error?.operation == .commit)
            try await expect("SELECT 7", is: 7, in: database)
            try await expect("SELECT (\(WaitingCommits.areThere))::int", is: 1, in: observer)
        }
    }

    @Test func `of what waits for a connection the writes are refused, and the reads served`() async throws {
        try await commits.withPools(.test(poolSize: 1, pipelineDepth: 1)) { database, observer in
            let first = insert(1, database)
            try await waitForInFlight(observer)
            let second = insert(2, database)
            let reading = Task { try await count("SELECT 7", in: database) }
            while database.statistics.waiting < 2 { try await pollingPause() }
            database.holdsWrites = true
            #expect(await second.value?.code == .writesHeld)
            #expect(await first.value?.code == .outcomeUnknown)
            #expect(try await reading.value == 7)
        }
    }

    @Test(
        arguments: [
            ("SELECT n FROM t WHERE updated_at < $1", false),
            ("SELECT n FROM t ORDER BY n LIMIT 1", false),
            ("WITH a AS (SELECT 1) SELECT deleted FROM a", false),
            ("COMMIT", false),
            ("INSERT INTO t VALUES (1)", true),
            ("WITH a AS (UPDATE t SET n = 1 RETURNING n) SELECT n FROM a", true),
            ("SELECT n FROM t FOR UPDATE SKIP LOCKED", true),
            ("SELECT n FROM t FOR NO KEY UPDATE", true),
            ("SELECT n FROM t\nFOR SHARE OF t", true),
            ("DELETE\nFROM t", true),
        ])
    func `what may need a commit is known by its keywords`(text: String, mayCommit: Bool) {
        #expect(SQL(unsafeSQL: text).mayCommit == mayCommit)
    }
}
