import Foundation
import Logging
import Postgres
import TestSupport
import Testing

@Suite(.fixture(ObservedPool.self), .timeLimit(.minutes(5))) struct LossTests {
    var database: Database { ObservedPool.current.database }
    var observer: Database { ObservedPool.current.observer }

    private func terminate(_ pid: Int, through observer: Database) async throws {
        try await observer.execute("SELECT pg_terminate_backend(\(Int32(pid)))")
        try await eventually("NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = \(Int32(pid)))", in: observer)
    }

    @Test func `a statement in flight on a lost connection fails, and the next one has a new connection`() async throws
    {
        let before = try await backend(of: database)
        let task = Task { await failure { try await database.execute("SELECT pg_sleep(50)") } }
        try await eventually(isRunning("SELECT pg_sleep%"), in: observer)
        try await terminate(before, through: observer)
        let error = await task.value
        #expect(error?.code == .connectionLost)
        #expect(error?.sqlState == "57P01")
        #expect(error?.operation == .execute)
        #expect(error?.isTemporary == true)
        #expect(try await backend(of: database) != before)
    }

    @Test func `an idle connection that was lost is replaced before a statement fails on it`() async throws {
        for _ in 0..<5 {
            try await terminate(try await backend(of: database), through: observer)
            while database.statistics.idle > 0 { try await pollingPause() }
            try await expect("SELECT 7", is: 7, in: database)
        }
    }

    /// As a proxy closes one that was idle for long, and a pooler one that it has no server for.
    @Test(
        .fixture { try await ObservedPool.run(.test(poolSize: 2, connectTimeout: .seconds(3)), $0) },
        arguments: [false, true])
    func `a connection that is lost before it has served is an outage only if it was to`(
        owesAnswer: Bool
    ) async throws {
        let first = try await backend(of: database)
        let inserts = try await observer.transaction { lock in
            try await lock.execute("LOCK TABLE t")
            let waiting = Task { try await database.execute("INSERT INTO t VALUES (1)") }
            try await lock.awaitWaiters()
            // It goes behind the other one, and has a second connection made.
            let behind = Task { try await database.execute("INSERT INTO t VALUES (2)") }
            while database.statistics.idle == 0 { try await pollingPause() }
            return [waiting, behind]
        }
        for insert in inserts { _ = try await insert.value }
        let second = try await count(
            """
            SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend'
                AND pid NOT IN (pg_backend_pid(), \(Int32(first)))
            """, in: observer)
        // Older than an attempt to connect may take.
        try await eventually(
            """
            EXISTS (
                SELECT FROM pg_stat_activity
                WHERE pid = \(Int32(second)) AND backend_start < clock_timestamp() - interval '7 seconds')
            """, in: observer)

        var owed: [Task<PostgresError?, Never>] = []
        if owesAnswer {
            owed = (0..<2).map { _ in Task { await failure { try await database.execute("SELECT pg_sleep(50)") } } }
            try await eventually(
                """
                2 = (
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND state = 'active' AND query = 'SELECT pg_sleep(50)')
                """, in: observer)
        }
        for pid in [second, first] { try await terminate(pid, through: observer) }
        for task in owed { #expect(await task.value?.code == .connectionLost) }
        while database.statistics.idle + database.statistics.busy > 0 { try await pollingPause() }
        #expect(database.statistics.isDown == owesAnswer)
    }

    @Test func `statements that waited while a connection was lost run on the next one`() async throws {
        let before = try await backend(of: database)
        let lost = Task {
            await failure { try await database.transaction { try await $0.execute("SELECT pg_sleep(50)") } }
        }
        try await eventually(isRunning("SELECT pg_sleep%"), in: observer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 { group.addTask { try await expect("SELECT \(number)", is: number, in: database) } }
            while database.statistics.waiting < 20 { try await pollingPause() }
            try await terminate(before, through: observer)
            try await group.waitForAll()
        }
        #expect(await lost.value?.code == .connectionLost)
    }

    @Test func `a transaction ends with its connection, and nothing of it stays`() async throws {
        await expectFailure(.connectionLost) {
            try await database.transaction { transaction in
                try await transaction.execute("INSERT INTO t VALUES (1)")
                try await terminate(try await backend(of: transaction), through: observer)
                _ = try? await transaction.execute("SELECT 1")
                // Must not run on the connection that replaced the lost one.
                try await transaction.execute("INSERT INTO t VALUES (2)")
            }
        }
        try await expect("SELECT count(*) FROM t", is: 0, in: database)
    }

    @Test func `a connection that is lost during the commit leaves its outcome open, and says so`() async throws {
        try await database.withConnection {
            try await $0.executeScript(
                unsafeSQL: """
                    CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
                    CREATE CONSTRAINT TRIGGER t_die AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION die();
                    """)
        }
        await expectFailure(.connectionLost, of: .commit) {
            try await database.transaction(retries: 3) { try await $0.execute("INSERT INTO t VALUES (1)") }
        }
        try await expect("SELECT count(*) FROM t", is: 0, in: database)
    }

    @Test(arguments: [false, true])
    func `a connection to a server that became read-only is given up for another one`(
        _ isTransaction: Bool
    ) async throws {
        let name = try await observer.query("SELECT current_database()", as: String.self)[0]
        try await observer.execute("ALTER DATABASE \(unsafeSQL: name) SET default_transaction_read_only = on")
        let before = try await backend(of: database)
        try await observer.execute("ALTER DATABASE \(unsafeSQL: name) RESET default_transaction_read_only")
        await expectFailure(.server(sqlState: "25006")) {
            if isTransaction {
                try await database.transaction { try await $0.execute("INSERT INTO t VALUES (1)") }
            } else {
                try await database.execute("INSERT INTO t VALUES (1)")
            }
        }
        try await database.execute("INSERT INTO t VALUES (2)")
        #expect(try await backend(of: database) != before)
    }

    @Test func `a transaction that a lone statement opens is not left to others`() async throws {
        let before = try await backend(of: database)
        await expectFailure(.protocolViolation) { try await database.execute("BEGIN") }
        try await database.execute("INSERT INTO t VALUES (1)")
        #expect(try await backend(of: database) != before)
        try await expect("SELECT count(*) FROM t", is: 1, in: database)
    }

    @Test(.fixture { try await ObservedPool.run(.test(poolSize: 4), $0) })
    func `statements under random losses fail or answer right, and none runs twice`() async throws {
        let killer = Task {
            var kills = 0
            while !Task.isCancelled {
                kills += try await observer.execute(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                        AND backend_type = 'client backend' AND random() < 0.3
                    """)
                for _ in 0..<20 { try await observer.execute("SELECT 1") }
            }
            return kills
        }
        let answers = try await concurrently(0..<3000) { number -> Int? in
            do throws(PostgresError) {
                let rows = try await database.query("INSERT INTO t VALUES (\(number)) RETURNING n") {
                    row throws(PostgresError) in try row.decode(Int.self)
                }
                #expect(rows == [number])
                return number
            } catch {
                #expect(error.code == .connectionLost)
                return nil
            }
        }
        let answered = answers.compactMap { $0 }
        killer.cancel()
        // The last question of the killer may itself have been cancelled.
        _ = try? await killer.value
        #expect(!answered.isEmpty)
        // Each connection may be one that the killer's last statement has ended.
        var stored: [Int]?
        while stored == nil {
            do throws(PostgresError) {
                stored = try await database.query("SELECT n FROM t", as: Int.self)
            } catch {
                try #require(error.code == .connectionLost)
            }
        }
        let numbers = Set(stored ?? [])
        #expect(numbers.count == stored?.count)
        #expect(numbers.isSuperset(of: answered))
    }

    @Test(.noFixture(ObservedPool.self))
    func `a database that does not exist is reported within the acquire timeout, with its reason`() async throws {
        try await ScratchDatabase.withFresh { scratch in
            let missing = ScratchDatabase(url: scratch.url.replacing("/scratch_", with: "/nowhere_"))
            try await missing.withPool(.test(acquireTimeout: .seconds(5))) { database in
                let error = await failure { try await database.execute("SELECT 1") }
                #expect(error?.code == .connectFailed)
                #expect(error?.sqlState == "3D000")
                #expect(error?.isTemporary == true)
            }
        }
    }

    @Test(
        .noFixture(ObservedPool.self),
        arguments: [
            ("postgresql://host/db", true), ("postgresql://host/db?sslmode=verify-full", true),
            ("host=/tmp sslmode=disable", true), ("postgresql://host/db?sslmode=verify_full", false),
            ("host=/tmp sslmode=REQUIRE", false), ("postgresql://host/db?sslmode=", false),
            ("postgresql://host/db?nonsense=1", false), ("postgresql://%zz", false),
            ("postgresql://user:c4nary@host/db", true), ("host=/tmp dbname=x", true),
        ])
    func `a URL is readable when libpq knows its parameters and its sslmode`(url: String, isReadable: Bool) {
        #expect(Database.Configuration.isReadable(url: url) == isReadable)
    }

    /// A password's `@` and `/` are to be encoded. libpq reads the URL all the same, and names a part of it in a message.
    @Test(
        .noFixture(ObservedPool.self),
        arguments: [
            "postgresql://user:c4/nary@host/db", "postgresql://user:42/nary@host/db",
            "postgresql://user:c4@nary@host/db",
            "postgres://user:c4@nary/c4@host/db", "postgresql://user:/nary@host/db", "postgresql://user:c4@@nary@/db",
            "postgresql://user:c4,n/ary@host/db?sslmode=require", "postgresql://user:4?2@4/2@host/db",
            "host=user:c4nary@host", "host=a,b port=5432,c4nary", "host=a port=0", "host=a port=65536",
        ])
    func `a URL whose password may be taken for something else is not read, and has one`(url: String) {
        #expect(Database.Configuration.fault(of: url) == .unreadable)
        #expect(Database.Configuration.hasPassword(url: url))
    }

    @Test(
        .noFixture(ObservedPool.self),
        arguments: [
            ("postgresql://user:c4%40n%2Fary@host/db", true), ("postgresql://user:c4:na?ry@host:5432/db", true),
            ("postgresql://user@a:5432,b/db", false), ("postgresql://user@a,b:/db", false),
            ("postgresql://user@/db?host=@socket", false), ("postgresql://user@%40socket/d%40b", false),
            ("postgresql://user@%2Frun%2Fpg%4015/db", false), ("host=/run/pg@15 dbname=db", false),
            ("postgresql:///db", false), ("host=@socket,/tmp port=", false), ("host=a password=c4@nary/", true),
        ])
    func `a URL whose parts are what they seem is read`(url: String, hasPassword: Bool) {
        #expect(Database.Configuration.fault(of: url) == nil)
        #expect(Database.Configuration.hasPassword(url: url) == hasPassword)
    }

    @Test(
        .noFixture(ObservedPool.self),
        arguments: [
            ("postgresql://user@host/db\n", true), ("postgres://user@host\r/db", true), ("host=a\n dbname=b\n", false),
        ])
    func `a line break is a part of no URI, and parts the words of the other form`(url: String, isFault: Bool) {
        let fault: Database.Configuration.Fault? = isFault ? .controlCharacter : nil
        #expect(Database.Configuration.fault(of: url) == fault)
    }

    @Test(.noFixture(ObservedPool.self)) func `a URL that cannot be read is recognised and never shown`() async throws {
        let url = "postgresql://user:c4nary@/db?nonsense=1"
        #expect(!Database.Configuration.isReadable(url: url))
        try await ScratchDatabase(url: url).withPool(.test(acquireTimeout: .seconds(2))) { database in
            let error = await failure { try await database.execute("SELECT 1") }
            #expect(error?.code == .connectFailed)
            #expect(error?.debugDescription.contains("c4nary") == false)
        }
    }

    /// Has a cluster of its own, since it takes it down.
    @Test(.noFixture(ObservedPool.self))
    func `a cluster may go down, and serves within five seconds of coming back`() async throws {
        try await PrivateCluster.run { cluster, url in
            try await ScratchDatabase(url: url).withPool(.test(acquireTimeout: .seconds(5))) { database in
                // A machine that pauses may be late once.
                let isBackInTime = try await onceOfThree {
                    let before = try await backend(of: database)
                    try await cluster.stop()
                    // In flight or not: every answer comes, and every one says that it is temporary. Once the cluster is
                    // known to be down, the time that one of them has says nothing more.
                    for time in [.seconds(5), .milliseconds(500), .milliseconds(500)] as [Duration] {
                        await expectFailure(.connectFailed) {
                            try await Database.acquiring(by: .now + time) {
                                try await database.transaction { try await $0.execute("SELECT 1") }
                            }
                        }
                    }
                    _ = try await cluster.start()
                    // The cluster takes connections.
                    let back = ContinuousClock.now
                    var after: Int?
                    while after == nil {
                        do {
                            after = try await backend(of: database)
                        } catch let error as PostgresError {
                            #expect(error.isTemporary)
                        }
                    }
                    #expect(after != before)
                    return back.duration(to: .now) < .seconds(5)
                }
                #expect(isBackInTime)
            }
        }
    }

    @Test(.noFixture(ObservedPool.self)) func `shutdown ends although the database is down`() async throws {
        let error = try await PrivateCluster.run { cluster, url in
            try await ScratchDatabase(url: url).withPool(.test(acquireTimeout: .seconds(5))) { database in
                try await expect("SELECT 7", is: 7, in: database)
                try await cluster.stop()
                let failures = Tally()
                let failed = Task {
                    defer { failures.add() }
                    return await failure { try await database.execute("SELECT 1") }
                }
                // On a busy machine it may have failed before it was seen to wait.
                while database.statistics.waiting == 0, failures.count == 0 { try await pollingPause() }
                await database.shutdown()
                return await failed.value
            }
        }
        #expect(error?.code == .connectFailed)
    }
}
