import TestSupport
import Testing

@testable import Postgres

/// Commits that wait for a synchronous standby: one that does not exist, so that they wait until the wait is cancelled.
/// PostgreSQL then answers with success and a warning.
@Suite(.sharedFixture(WaitingCommits.self), .timeLimit(.minutes(5))) struct UnconfirmedCommitTests {
    private var commits: WaitingCommits { .current }

    private func cancelWait(through observer: Database) async throws {
        try await eventually(WaitingCommits.areThere, in: observer)
        try await observer.execute(
            """
            SELECT pg_cancel_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'waiting' AND wait_event = 'SyncRep'
            """)
    }

    @Test func `a lone statement that the standby did not confirm has an unknown outcome, and is not run again`()
        async throws
    {
        try await commits.withPools { database, observer in
            let before = try await backend(of: database)
            let task = Task { await failure { try await database.execute("INSERT INTO t VALUES (1)") } }
            try await cancelWait(through: observer)
            let error = await task.value
            #expect(error?.code == .outcomeUnknown)
            #expect(error?.isTemporary == true)
            try await expect("SELECT count(*) FROM t", is: 1, in: observer)
            #expect(try await backend(of: database) == before)
        }
    }

    @Test func `of statements in flight on one connection the one that was not confirmed is known among the others`()
        async throws
    {
        try await commits.withPools(.test(poolSize: 1, pipelineDepth: 3)) { database, observer in
            let writing = Task { await failure { try await database.execute("INSERT INTO t VALUES (1)") } }
            try await eventually(WaitingCommits.areThere, in: observer)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<5 { group.addTask { try await expect("SELECT \(number)", is: number, in: database) } }
                // Two of them are sent.
                while database.statistics.waiting < 3 { try await pollingPause() }
                try await cancelWait(through: observer)
                try await group.waitForAll()
            }
            #expect(await writing.value?.code == .outcomeUnknown)
        }
    }

    @Test
    func `a transaction that the standby did not confirm has an unknown outcome, and is not run again`() async throws {
        try await commits.withPools { database, observer in
            let runs = Tally()
            let task = Task {
                await failure {
                    try await database.transaction(.serializable, retries: 3) { transaction in
                        runs.add()
                        try await transaction.execute("INSERT INTO t VALUES (1)")
                    }
                }
            }
            try await cancelWait(through: observer)
            let error = await task.value
            #expect(error?.code == .outcomeUnknown)
            #expect(error?.operation == .commit)
            #expect(runs.count == 1)
            try await expect("SELECT count(*) FROM t", is: 1, in: observer)
        }
    }

    @Test func `statements and scripts on a leased connection that the standby did not confirm have unknown outcomes`()
        async throws
    {
        try await commits.withPools { database, observer in
            let statement = Task {
                await failure { try await database.withConnection { try await $0.execute("INSERT INTO t VALUES (1)") } }
            }
            try await cancelWait(through: observer)
            #expect(await statement.value?.code == .outcomeUnknown)
            let script = Task {
                await failure {
                    try await database.withConnection {
                        try await $0.executeScript(unsafeSQL: "INSERT INTO t VALUES (2); INSERT INTO t VALUES (3);")
                    }
                }
            }
            try await cancelWait(through: observer)
            #expect(await script.value?.code == .outcomeUnknown)
            try await expect("SELECT count(*) FROM t", is: 3, in: observer)
        }
    }

    /// Otherwise the answer would be a plain success.
    @Test func `the warning comes although the URL asks for none`() async throws {
        try await commits.withPools(options: "&options=-c%20client_min_messages%3Derror") { database, observer in
            let task = Task { await failure { try await database.execute("INSERT INTO t VALUES (1)") } }
            try await cancelWait(through: observer)
            #expect(await task.value?.code == .outcomeUnknown)
        }
    }

    @Test(.fixture(WaitingCommits.self))
    func `a commit that waits for too long has an unknown outcome, and goes on`() async throws {
        try await commits.withPools(.test(poolSize: 1, commitTimeout: .milliseconds(200))) { database, observer in
            await expectFailure(.outcomeUnknown, of: .commit) {
                try await database.transaction(retries: 3) { try await $0.execute("INSERT INTO t VALUES (1)") }
            }
            // A cancelled one would not wait.
            try await eventually(WaitingCommits.areThere, in: observer)
            let next = Task { try await count("SELECT 7", in: database) }
            while database.statistics.waiting < 1 { try await pollingPause() }
            try await expect("SELECT (\(WaitingCommits.areThere))::int", is: 1, in: observer)
            try await commits.letGo()
            #expect(try await next.value == 7)
            try await expect("SELECT count(*) FROM t", is: 1, in: observer)
        }
    }

    @Test(.fixture(WaitingCommits.self))
    func `a lone statement that is not answered in time has an unknown outcome, and goes on`() async throws {
        try await commits.withPools(.test(poolSize: 1, answerTimeout: .milliseconds(200))) { database, observer in
            await expectFailure(.outcomeUnknown, of: .execute) {
                try await database.execute("INSERT INTO t VALUES (1)")
            }
            // A cancelled one would not wait.
            try await eventually(WaitingCommits.areThere, in: observer)
            try await commits.letGo()
            try await eventually("NOT \(WaitingCommits.areThere)", in: observer)
            try await expect("SELECT count(*) FROM t", is: 1, in: observer)
        }
    }

    @Test
    func `a lone statement whose commit waits without end has an unknown outcome, and is not cancelled`() async throws {
        try await commits.withPools(.test(poolSize: 1, statementTimeout: .seconds(1))) { database, observer in
            await expectFailure(.connectionLost) { try await database.execute("INSERT INTO t VALUES (1)") }
            try await eventually(WaitingCommits.areThere, in: observer)
        }
    }

    @Test(
        arguments: [
            ("WARNING", "01000", "SyncRepWaitForLSN", "syncrep.c", true),
            // Another name of the function, or of the file.
            ("WARNING", "01000", "SyncRepWait", "syncrep.c", true),
            ("WARNING", "57P01", "SyncRepWaitForLSN", "", true),
            ("WARNING", "01000", "WarnNoTransactionBlock", "xact.c", false),
            ("NOTICE", "42P07", "DefineRelation", "tablecmds.c", false),
            ("LOG", "00000", "SyncRepReleaseWaiters", "syncrep.c", false), ("WARNING", "01000", "", "", false),
        ])
    func `the warning is known by the place that wrote it, whatever its language`(
        severity: String, sqlState: String, function: String, file: String, isUnconfirmed: Bool
    ) {
        let notice = ServerNotice(
            severity: severity, sqlState: sqlState, message: "storniere Warten auf synchrone Replikation",
            function: function, file: file)
        #expect(notice.isUnconfirmedCommit == isUnconfirmed)
    }
}
