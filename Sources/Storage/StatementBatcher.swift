import Postgres
import Primitives
import Synchronization

/// Whether a batch's statement waits for a row that another transaction has locked, or is refused.
enum LockWait: Sendable {
    case refused
    case waited

    /// Of a `FOR UPDATE` or one of its kin.
    var clause: SQL { self == .refused ? "NOWAIT" : "" }
}

extension Database {
    /// Runs a batch's statement. One that may wait for a lock has a connection of its own: what is sent behind it on a shared
    /// one would wait too.
    func run<Value: Sendable>(
        _ lockWait: LockWait,
        _ statement: @Sendable (any PostgresSession) async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        guard lockWait == .waited else { return try await statement(self) }
        do {
            return try await transaction { transaction in try await statement(transaction) }
        } catch {
            throw error as? PostgresError
                ?? PostgresError(.cancelled, operation: .query, location: "\(#fileID):\(#line)")
        }
    }
}

/// A queue that runs concurrent calls as one: one statement and one commit then serve many of them.
///
/// A call that comes while none runs does so at once and alone. Those that come meanwhile wait, and the batch after it
/// takes all of them, up to a limit. A second slot runs batches beside the first only while many calls wait, or one that
/// has waited for long: a statement has a price of its own, which few calls should not pay. So no call waits for a batch
/// to fill, and the higher the load, the less each call costs.
///
/// ```
///   call ── none runs ───────────────────▶ running ──▶ answered
///     └──── else ──────▶ waiting ────────────┘           ▲
///                            └── timeout reached, or task cancelled
/// ```
///
/// Nothing waits for a row's lock in a slot: there it would hold up the calls behind it, and with the locks of its other
/// calls those of other transactions. A batch that meets a locked row is refused as a whole, and each of its calls runs
/// alone, outside of the slots. One that meets a locked row alone waits for it on a connection of its own; few do so at a
/// time, so that they don't take them all.
///
/// A call that has begun to run is not cancelled with its task, as it shares its statement with others; one that runs at
/// once and alone may be. The timeout is for the wait here and the wait for a connection together: a batch that gets none
/// by the end of its oldest call's time is dissolved, and its younger calls wait on.
final class StatementBatcher<Call: Sendable, Answer: Sendable>: Sendable {
    /// The work of a batch: answers each call, in their order. Throws when none of it took effect.
    typealias Work = @Sendable ([Call], LockWait) async throws(PostgresError) -> [Answer]
    typealias Outcome = Result<Answer, PostgresError>

    /// The identity of a call, by which it is found when its task is cancelled.
    private final class Token: Sendable {}

    /// A class, since it moves from queue to queue: a copy of so many generic fields costs as much as the work on them.
    private final class Waiting: Sendable {
        let call: Call
        let token: Token
        let since = ContinuousClock.now
        let continuation: CheckedContinuation<Outcome, Never>

        init(_ call: Call, _ token: Token, _ continuation: CheckedContinuation<Outcome, Never>) {
            self.call = call
            self.token = token
            self.continuation = continuation
        }
    }

    private struct State {
        var waiting: [Waiting] = []
        var runningSlots = 0
        /// The calls that have met a locked row, and wait for their turn to wait for it.
        var locked: [Waiting] = []
        var freeLockWaits = 2
    }

    private let concurrency: Int
    private let limit: Int
    private let timeout: Duration
    private let overlapDelay: Duration
    private let endsWithTask: Bool
    private let work: Work
    private let state = Mutex(State())
    /// Fails the calls that have waited too long.
    private let timer = DeadlineTimer()
    /// Begins a batch beside one that takes long.
    private let overlapTimer = DeadlineTimer()

    /// - Parameters:
    ///   - concurrency: how many batches run at a time.
    ///   - limit: how many calls run as one.
    ///   - timeout: how long a call may wait for a slot and a connection.
    ///   - overlapDelay: how long a call waits for the batch before it, before it may run beside that.
    ///   - endsWithTask: whether a call that runs at once may be cancelled with its task. It runs in the task itself then,
    ///     which spares the way to another one and back.
    init(
        concurrency: Int = 2, limit: Int = 32, timeout: Duration, overlapDelay: Duration = .milliseconds(5),
        endsWithTask: Bool = false, work: @escaping Work
    ) {
        self.concurrency = concurrency
        self.limit = limit
        self.timeout = timeout
        self.overlapDelay = overlapDelay
        self.endsWithTask = endsWithTask
        self.work = work
    }

    /// The number of calls that wait for a slot.
    var waitingCount: Int { state.withLock(\.waiting.count) }

    /// The number of slots that run batches.
    var runningCount: Int { state.withLock(\.runningSlots) }

    func answer(_ call: Call) async throws(PostgresError) -> Answer {
        if endsWithTask, takeSlot() {
            do throws(PostgresError) {
                defer { leaveSlot() }
                return try await work([call], .refused)[0]
            } catch {
                guard error.isOfLockedRow else { throw error }
            }
            return try await outcome(of: call, waitForLock).get()
        }
        return try await outcome(of: call, enqueue).get()
    }

    private func outcome(of call: Call, _ enqueue: (Waiting) -> Void) async -> Outcome {
        let token = Token()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enqueue(Waiting(call, token, continuation))
            }
        } onCancel: {
            cancel(token)
        }
    }

    private func takeSlot() -> Bool {
        state.withLock { state in
            guard state.runningSlots == 0 else { return false }
            state.runningSlots = 1
            return true
        }
    }

    private func leaveSlot() { begin(nextBatch()) }

    /// Runs batches in a slot more. The first one runs where the call runs that begins it: on an event loop, which is then
    /// spared the way to the pool and back. Where others follow, there is load, and the event loop has other work.
    private func begin(_ batch: [Waiting]) {
        guard !batch.isEmpty else { return }
        let executor = withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor?.asTaskExecutor() }
        Task.detached(executorPreference: executor) { [self] in
            await run(batch)
            let next = nextBatch()
            if !next.isEmpty { Task.detached { [self] in await runBatches(next) } }
        }
    }

    /// Whether a batch may run beside another one.
    private func isCrowded(_ state: State) -> Bool {
        guard let oldest = state.waiting.first else { return false }
        return state.waiting.count >= limit / 4 || oldest.since + overlapDelay <= .now
    }

    /// What a slot more runs, where one is to begin.
    private func firstBatch(_ state: inout State) -> [Waiting] {
        guard state.runningSlots == 0 || state.runningSlots < concurrency && isCrowded(state) else { return [] }
        let batch = takeBatch(&state)
        if !batch.isEmpty { state.runningSlots += 1 }
        return batch
    }

    private func enqueue(_ entry: Waiting) {
        let (batch, mayOverlap, isRefused) = state.withLock { state -> ([Waiting], Bool, Bool) in
            // Under the lock: a task that is cancelled later finds the call in the queue.
            if Task.isCancelled { return ([], false, true) }
            state.waiting.append(entry)
            return (firstBatch(&state), state.runningSlots < concurrency, false)
        }
        if isRefused {
            entry.continuation.resume(returning: .failure(Self.error(.cancelled)))
        } else if batch.isEmpty {
            timer.start { [weak self] in self?.expire() }
            if mayOverlap { overlapTimer.start { [weak self] in self?.overlap() } }
        } else {
            begin(batch)
        }
    }

    /// Begins a batch where a call has waited for `overlapDelay` and another slot is free. Returns when the oldest will have;
    /// `nil` when none waits or no slot is free.
    private func overlap() -> ContinuousClock.Instant? {
        let (batch, next) = state.withLock { state -> ([Waiting], ContinuousClock.Instant?) in
            let batch = firstBatch(&state)
            let oldest = state.runningSlots < concurrency ? state.waiting.first : nil
            return (batch, oldest.map { $0.since + overlapDelay })
        }
        begin(batch)
        return next
    }

    /// Runs batch after batch in one slot, until no call waits.
    private func runBatches(_ first: [Waiting]) async {
        var batch = first
        while !batch.isEmpty {
            await run(batch)
            batch = nextBatch()
        }
    }

    /// What a slot runs next; none, and it ends, when no call waits, or few do and another slot runs.
    private func nextBatch() -> [Waiting] {
        let (batch, isSomeLeft) = state.withLock { state -> ([Waiting], Bool) in
            let batch = state.runningSlots == 1 || isCrowded(state) ? takeBatch(&state) : []
            if batch.isEmpty { state.runningSlots -= 1 }
            return (batch, batch.isEmpty && !state.waiting.isEmpty)
        }
        if isSomeLeft { overlapTimer.start { [weak self] in self?.overlap() } }
        return batch
    }

    private func takeBatch(_ state: inout State) -> [Waiting] {
        let batch = Array(state.waiting.prefix(limit))
        state.waiting.removeFirst(batch.count)
        return batch
    }

    /// When the server refused the statement, which then changed nothing, each of its calls runs alone: only the call
    /// that caused the refusal fails, and only the one whose row is locked waits.
    private func run(_ batch: [Waiting]) async {
        let oldest = batch.map(\.since).min() ?? .now
        do throws(PostgresError) {
            let answers = try await Database.acquiring(by: oldest + timeout) { () async throws(PostgresError) in
                try await work(batch.map(\.call), .refused)
            }
            for (waiting, answer) in zip(batch, answers) { waiting.continuation.resume(returning: .success(answer)) }
        } catch {
            if batch.count > 1, error.isRefusal {
                for waiting in batch { Task.detached { [self] in await run([waiting]) } }
            } else if error.isOfLockedRow {
                for waiting in batch { waitForLock(waiting) }
            } else {
                let refused = batch.count > 1 && error.isLackOfConnection ? withdrawing(from: batch) : batch
                for waiting in refused { waiting.continuation.resume(returning: .failure(error)) }
            }
        }
    }

    /// Puts the calls of a batch that was not sent back into the queue, but for those whose time is over, which are
    /// returned. The queue is in the order of arrival; another slot may have put younger calls back before.
    private func withdrawing(from batch: [Waiting]) -> [Waiting] {
        let latest = ContinuousClock.now - timeout
        let younger = batch.filter { $0.since > latest }
        state.withLock { $0.waiting = (younger + $0.waiting).sorted { $0.since < $1.since } }
        if !younger.isEmpty { timer.start { [weak self] in self?.expire() } }
        return batch.filter { $0.since <= latest }
    }

    // MARK: - Calls that have met a locked row

    private func waitForLock(_ entry: Waiting) {
        let (isFirst, isRefused) = state.withLock { state -> (Bool, Bool) in
            if Task.isCancelled { return (false, true) }
            state.locked.append(entry)
            guard state.freeLockWaits > 0 else { return (false, false) }
            state.freeLockWaits -= 1
            return (true, false)
        }
        if isRefused {
            entry.continuation.resume(returning: .failure(Self.error(.cancelled)))
        } else if isFirst {
            Task.detached { [self] in await runLocked() }
        } else {
            timer.start { [weak self] in self?.expire() }
        }
    }

    /// Runs one after the other, each with the time that a transaction has for its connection and its statements.
    private func runLocked() async {
        while let next = nextLocked() {
            let outcome: Outcome
            do throws(PostgresError) {
                outcome = .success(try await work([next.call], .waited)[0])
            } catch {
                outcome = .failure(error)
            }
            next.continuation.resume(returning: outcome)
        }
    }

    private func nextLocked() -> Waiting? {
        state.withLock { state in
            guard !state.locked.isEmpty else {
                state.freeLockWaits += 1
                return nil
            }
            return state.locked.removeFirst()
        }
    }

    // MARK: - Calls that end without having run

    private func cancel(_ token: Token) {
        let cancelled = state.withLock { state -> Waiting? in
            for queue in [\State.waiting, \.locked] {
                guard let index = state[keyPath: queue].firstIndex(where: { $0.token === token }) else { continue }
                return state[keyPath: queue].remove(at: index)
            }
            return nil
        }
        cancelled?.continuation.resume(returning: .failure(Self.error(.cancelled)))
    }

    /// Fails the calls that have waited for `timeout`. Returns the next deadline; `nil` when no call waits.
    private func expire() -> ContinuousClock.Instant? {
        let (expired, next) = state.withLock { state -> ([Waiting], ContinuousClock.Instant?) in
            let latest = ContinuousClock.now - timeout
            var expired: [Waiting] = []
            for queue in [\State.waiting, \.locked] {
                expired += state[keyPath: queue].filter { $0.since <= latest }
                state[keyPath: queue].removeAll { $0.since <= latest }
            }
            let oldest = (state.waiting + state.locked).map(\.since).min()
            return (expired, oldest.map { $0 + timeout })
        }
        for waiting in expired { waiting.continuation.resume(returning: .failure(Self.error(.acquireTimedOut))) }
        return next
    }

    private static func error(_ code: PostgresError.Code) -> PostgresError {
        PostgresError(code, operation: .query, location: "\(#fileID):\(#line)")
    }
}

extension PostgresError {
    /// Whether the statement changed nothing, for a reason that may lie in one of its values or rows. When the server has no
    /// time or room for a batch, its calls one by one would only ask for more of it.
    fileprivate var isRefusal: Bool {
        switch code {
        // Data exceptions, violated constraints, deadlocks.
        case .server(let sqlState): ["22", "23", "40"].contains(sqlState.prefix(2)) || isOfLockedRow
        case .encoding: true
        default: false
        }
    }

    /// Whether `NOWAIT` met a row that another transaction has locked; a table that was locked for too long has the same
    /// code.
    fileprivate var isOfLockedRow: Bool { code == .server(sqlState: "55P03") }

    /// Whether the statement was not sent, because it got no connection in its time.
    fileprivate var isLackOfConnection: Bool { code == .acquireTimedOut || code == .connectFailed }
}

extension Array {
    /// The answers of a batch, each at the place of its call. An error names the table of the value that could not be read.
    ///
    /// - Parameters:
    ///   - rows: the answers with the positions of their calls. PostgreSQL counts from 1.
    ///   - missing: the answer to a call without a row.
    init<Answer>(
        _ rows: some Sequence<(Int, Result<Answer, PostgresError>)>, answering count: Int, missing: Answer,
        in session: any PostgresSession
    ) async where Element == Result<Answer, PostgresError> {
        self.init(repeating: .success(missing), count: count)
        for (position, answer) in rows { self[position - 1] = answer }
        for (index, answer) in enumerated() {
            if case .failure(let error) = answer { self[index] = .failure(await session.namingTable(of: error)) }
        }
    }
}
