import Accounts
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Storage

/// The time that a call waits for its turn and for a connection together.
@Suite(.timeLimit(.minutes(2))) struct StatementBatcherTests {
    /// Signs people in by a store whose database does not exist.
    @Test func `a sign-in that gets no connection is refused once its time is over, also behind others`() async throws {
        let limit = Duration.seconds(5)
        let missing = ScratchDatabase(url: "postgresql:///none?host=/nonexistent")
        try await missing.withPool(.test(poolSize: 2, acquireTimeout: limit)) { database in
            let store = IdentityStore(database: database)
            let waits = try await withThrowingTaskGroup(of: Duration.self) { group in
                // The first two go to the pool at once.
                for number in 0..<2 { group.addTask { try await Self.refusal(of: number, store) } }
                while database.statistics.waiting < 2 { try await pollingPause() }
                let start = ContinuousClock.now
                while ContinuousClock.now < start + .milliseconds(300) { try await pollingPause() }
                // The others wait for one of them to end, which is a little before their own time is over.
                for number in 2..<24 { group.addTask { try await Self.refusal(of: number, store) } }
                return try await group.reduce(into: [Duration]()) { $0.append($1) }
            }
            #expect(waits.count == 24)
            for wait in waits {
                #expect(wait >= limit)
                // One wait behind the other would take twice as long; most of that is left to a busy machine.
                #expect(wait < limit * 9 / 5)
            }
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
        let limit = Duration.seconds(16)
        let mayEnd = Atomic(false)
        let batches = Mutex<[[Call]]>([])
        let endOfOld = Mutex(ContinuousClock.now)
        let batcher = StatementBatcher<Call, Int>(concurrency: 1, timeout: limit) {
            (calls, _) throws(PostgresError) in
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
        while batches.withLock(\.isEmpty) { try await pollingPause() }
        let old = Task { () -> PostgresError.Code? in
            do throws(PostgresError) {
                _ = try await batcher.answer(.old)
                return nil
            } catch {
                return error.code
            }
        }
        while batcher.waitingCount < 1 { try await pollingPause() }
        let start = ContinuousClock.now
        endOfOld.withLock { $0 = start + limit }
        while ContinuousClock.now < start + limit / 2 { try await pollingPause() }
        async let young = batcher.answer(.young)
        while batcher.waitingCount < 2 { try await pollingPause() }
        mayEnd.store(true, ordering: .relaxed)
        #expect(await old.value == .acquireTimedOut)
        #expect(try await young == 7)
        #expect(try await first == 7)
        #expect(batches.withLock(\.self) == [[.first], [.old, .young], [.young]])
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
            let answer = try await first.value
            #expect(answer == 7)
        }
    }
}
