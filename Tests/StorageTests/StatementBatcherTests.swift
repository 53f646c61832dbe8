import Accounts
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Storage

/// The time that a call waits for its turn and for a connection together.
@Suite(.timeLimit(.minutes(5))) struct StatementBatcherTests {
    /// Signs people in by a store whose database does not exist.
    @Test func `a sign-in that gets no connection is refused once its time is over, also behind others`() async throws {
        let limit = Duration.seconds(16)
        let missing = ScratchDatabase(url: "postgresql:///none?host=/nonexistent")
        try await missing.withPool(.test(poolSize: 2, acquireTimeout: limit)) { database in
            let store = IdentityStore(database: database)
            // A machine that pauses may be late once.
            let areInTime = try await onceOfThree {
                let waits = try await withThrowingTaskGroup(of: Duration.self) { group in
                    // The second one goes to the pool beside the first when it has waited a little.
                    for number in 0..<2 { group.addTask { try await Self.refusal(of: number, store) } }
                    let begin = ContinuousClock.now
                    while database.statistics.waiting < 2, ContinuousClock.now < begin + limit {
                        try await pollingPause()
                    }
                    let start = ContinuousClock.now
                    while ContinuousClock.now < start + .milliseconds(300) { try await pollingPause() }
                    // The others wait for one of them to end, which is a little before their own time is over.
                    for number in 2..<24 { group.addTask { try await Self.refusal(of: number, store) } }
                    return try await group.reduce(into: [Duration]()) { $0.append($1) }
                }
                #expect(waits.count == 24)
                for wait in waits { #expect(wait >= limit) }
                // One wait behind the other would take twice as long; most of that is left to a busy machine.
                return waits.allSatisfy { $0 < limit * 9 / 5 }
            }
            #expect(areInTime)
        }
    }

    /// How long a sign-in waited for its refusal.
    private static func refusal(of number: Int, _ store: IdentityStore) async throws -> Duration {
        let subject = try #require(ProviderSubject("subject-\(number)"))
        let now = Timestamp(seconds: 1_800_000_000)
        let start = ContinuousClock.now
        do throws(PostgresError) {
            _ = try await store.signIn(
                VerifiedIdentity(
                    key: IdentityKey(provider: .apple, realm: Realm("main"), subject: subject), email: nil,
                    clientID: "com.example.lamp", authenticatedAt: now, issuedAt: now),
                newSession: NewSession(
                    id: SessionID(now: now), authenticatedAt: now, methods: [.apple], now: now, expiresAt: now,
                    device: nil, address: nil))
            Issue.record("signed in without a database")
        } catch {
            #expect([.connectFailed, .acquireTimedOut].contains(error.code))
            #expect(error.isTemporary)
        }
        return ContinuousClock.now - start
    }

    private enum Call: Sendable {
        case first
        case old
        case young
    }

    /// A batch that gets no connection by the end of its oldest call's time: the real wait is the pool's, and ends the same
    /// way.
    @Test func `a batch that gets no connection ends the wait of those whose time is over, and the others wait on`()
        async throws
    {
        // On a machine that pauses the time of the younger call may be over too.
        #expect(try await onceOfThree { try await Self.endsOldAlone() })
    }

    /// Whether of a batch without a connection the old call ended, and the young one was answered by the next.
    private static func endsOldAlone() async throws -> Bool {
        let limit = Duration.seconds(16)
        let mayEnd = Atomic(false)
        let batches = Mutex<[[Call]]>([])
        let endOfOld = Mutex(ContinuousClock.now)
        let batcher = StatementBatcher<Call, Int>(concurrency: 1, timeout: limit) { (calls, _) throws(PostgresError) in
            batches.withLock { $0.append(calls) }
            if calls == [.first] {
                while !mayEnd.load(ordering: .relaxed) { try? await pollingPause() }
            } else if calls.count > 1 {
                while ContinuousClock.now <= endOfOld.withLock(\.self) { try? await pollingPause() }
                throw PostgresError(.acquireTimedOut, operation: .query, location: "")
            }
            return calls.map { _ in 7 }
        }
        async let first = batcher.answer(.first)
        defer { mayEnd.store(true, ordering: .relaxed) }
        while batches.withLock(\.isEmpty) { try await pollingPause() }
        let old = Task { () -> PostgresError.Code? in
            do throws(PostgresError) {
                _ = try await batcher.answer(.old)
                return nil
            } catch {
                return error.code
            }
        }
        let begin = ContinuousClock.now
        while batcher.waitingCount < 1, ContinuousClock.now < begin + limit { try await pollingPause() }
        let start = ContinuousClock.now
        endOfOld.withLock { $0 = start + limit }
        while ContinuousClock.now < start + limit / 2 { try await pollingPause() }
        async let young = batcher.answer(.young)
        while batcher.waitingCount < 2, ContinuousClock.now < start + limit { try await pollingPause() }
        mayEnd.store(true, ordering: .relaxed)
        let ended = await old.value
        let answers = [try? await young, try? await first]
        return ended == .acquireTimedOut && answers == [7, 7]
            && batches.withLock(\.self) == [[.first], [.old, .young], [.young]]
    }

    @Test(arguments: [("22P02", true), ("40P01", true), ("57014", false), ("53100", false)])
    func `the calls of a refused batch run alone only where one of them may be at fault`(
        sqlState: String, runsAlone: Bool
    ) async throws {
        let mayEnd = Atomic(false)
        let batches = Mutex<[[Int]]>([])
        let batcher = StatementBatcher<Int, Int>(concurrency: 1, timeout: .seconds(60)) {
            (calls, _) throws(PostgresError) in
            batches.withLock { $0.append(calls) }
            if calls == [0] { while !mayEnd.load(ordering: .relaxed) { try? await pollingPause() } }
            if calls.count > 1 { throw PostgresError(.server(sqlState: sqlState), operation: .query, location: "") }
            return calls
        }
        async let first = batcher.answer(0)
        defer { mayEnd.store(true, ordering: .relaxed) }
        while batches.withLock(\.isEmpty) { try await pollingPause() }
        let others = (1...2).map { call in Task { try? await batcher.answer(call) } }
        while batcher.waitingCount < 2 { try await pollingPause() }
        mayEnd.store(true, ordering: .relaxed)
        #expect(try await first == 0)
        for (call, other) in zip(1...2, others) { #expect(await other.value == (runsAlone ? call : nil)) }
        #expect(batches.withLock { $0.map(\.count) } == (runsAlone ? [1, 2, 1, 1] : [1, 2]))
    }

    /// The batches that have run, some of which go on until they may end.
    private final class History: Sendable {
        let batches = Mutex<[Int]>([])
        private let held: Mutex<Set<Int>>
        /// - Parameter held: the numbers of the batches that go on.
        init(held: Set<Int>) { self.held = Mutex(held) }

        func release(_ number: Int) { held.withLock { _ = $0.remove(number) } }

        private func run(_ calls: [Int]) async {
            let number = batches.withLock { batches in
                batches.append(calls.count)
                return batches.count - 1
            }
            while held.withLock({ $0.contains(number) }) { try? await pollingPause() }
        }

        /// A batcher whose first call is at work.
        func start(overlapDelay: Duration) async throws -> (StatementBatcher<Int, Int>, first: Task<Int, any Error>) {
            let batcher = StatementBatcher<Int, Int>(limit: 32, timeout: .seconds(60), overlapDelay: overlapDelay) {
                (calls, _) throws(PostgresError) in
                await self.run(calls)
                return calls
            }
            let first = Task { try await batcher.answer(0) }
            while batches.withLock(\.isEmpty) { try await pollingPause() }
            return (batcher, first)
        }
    }

    @Test func `few calls wait for the batch before them and share the next one`() async throws {
        let history = History(held: [0])
        let (batcher, first) = try await history.start(overlapDelay: .seconds(60))
        let others = (1...7).map { number in Task { try await batcher.answer(number) } }
        while batcher.waitingCount < 7 { try await pollingPause() }
        #expect(history.batches.withLock(\.self) == [1])
        history.release(0)
        for (number, call) in ([first] + others).enumerated() { #expect(try await call.value == number) }
        #expect(history.batches.withLock(\.self) == [1, 7])
    }

    @Test(arguments: [(8, Duration.seconds(60)), (1, .milliseconds(1))])
    func `a batch runs beside another one when many calls wait, or one has waited`(
        _ count: Int, overlapDelay: Duration
    ) async throws {
        let history = History(held: [0])
        let (batcher, first) = try await history.start(overlapDelay: overlapDelay)
        let others = (1...count).map { number in Task { try await batcher.answer(number) } }
        for (index, call) in others.enumerated() { #expect(try await call.value == index + 1) }
        history.release(0)
        #expect(try await first.value == 0)
        #expect(history.batches.withLock(\.self) == [1, count])
    }

    @Test func `a slot ends beside another one when few calls wait`() async throws {
        let history = History(held: [0, 1])
        let (batcher, first) = try await history.start(overlapDelay: .seconds(60))
        let others = (1...8).map { number in Task { try await batcher.answer(number) } }
        while history.batches.withLock(\.count) < 2 { try await pollingPause() }
        let late = Task { try await batcher.answer(9) }
        while batcher.waitingCount < 1 { try await pollingPause() }
        history.release(1)
        while batcher.runningCount > 1 { try await pollingPause() }
        #expect(batcher.waitingCount == 1)
        #expect(history.batches.withLock(\.self) == [1, 8])
        history.release(0)
        for (number, call) in ([first] + others + [late]).enumerated() { #expect(try await call.value == number) }
        #expect(history.batches.withLock(\.self) == [1, 8, 1])
    }

    @Test func `a call that a slot left behind runs when it has waited`() async throws {
        let history = History(held: [0, 1])
        let (batcher, first) = try await history.start(overlapDelay: .milliseconds(500))
        let second = Task { try await batcher.answer(1) }
        while batcher.runningCount < 2 { try await pollingPause() }
        let late = Task { try await batcher.answer(2) }
        while batcher.waitingCount < 1 { try await pollingPause() }
        history.release(1)
        // The first batch is still at work.
        #expect(try await late.value == 2)
        history.release(0)
        #expect(try await second.value == 1)
        #expect(try await first.value == 0)
        #expect(history.batches.withLock(\.self) == [1, 1, 1])
    }

    @Test func `what waited while every slot was busy does not hold up the calls after it`() async throws {
        let history = History(held: [0, 1])
        let (batcher, first) = try await history.start(overlapDelay: .milliseconds(1))
        let second = Task { try await batcher.answer(1) }
        while batcher.runningCount < 2 { try await pollingPause() }
        let third = Task { try await batcher.answer(2) }
        let start = ContinuousClock.now
        while batcher.waitingCount < 1 || ContinuousClock.now < start + .milliseconds(50) { try await pollingPause() }
        history.release(1)
        #expect(try await second.value == 1)
        #expect(try await third.value == 2)
        while batcher.runningCount > 1 { try await pollingPause() }
        // The first batch is still at work.
        #expect(try await batcher.answer(3) == 3)
        history.release(0)
        #expect(try await first.value == 0)
        #expect(history.batches.withLock(\.self) == [1, 1, 1, 1])
    }

    /// Others share the statement of a call that has waited; one that runs at once has it to itself.
    @Test(arguments: [true, false]) func `a call that runs at once ends with its task, where it may`(
        endsWithTask: Bool
    ) async throws {
        let isRunning = Atomic(false)
        let mayEnd = Atomic(false)
        let batcher = StatementBatcher<Call, Int>(concurrency: 1, timeout: .seconds(60), endsWithTask: endsWithTask) {
            (calls, _) throws(PostgresError) in
            isRunning.store(true, ordering: .relaxed)
            while !mayEnd.load(ordering: .relaxed) {
                if Task.isCancelled { throw PostgresError(.cancelled, operation: .query, location: "") }
                try? await pollingPause()
            }
            return calls.map { _ in 7 }
        }
        let first = Task { try await batcher.answer(.first) }
        while !isRunning.load(ordering: .relaxed) { try await pollingPause() }
        first.cancel()
        if endsWithTask {
            await #expect(throws: PostgresError.self) { try await first.value }
        }
        // Its slot is free again, or becomes so.
        let next = Task { try await batcher.answer(.young) }
        mayEnd.store(true, ordering: .relaxed)
        #expect(try await next.value == 7)
        if !endsWithTask {
            #expect(try await first.value == 7)
        }
    }
}
