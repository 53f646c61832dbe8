import Postgres
import Primitives
import Synchronization

/// Runs calls that come at the same time as one: one statement and one commit then serve many of them.
///
/// A call that finds a free lane goes at once and alone. Those that come while every lane is taken wait, and the first
/// lane to become free takes all of them, up to a limit. So nobody ever waits for company, and the more there is to do,
/// the less each call costs.
///
/// ```
///   call ── lane free ─────────────────▶ running ──▶ answered
///     └──── all taken ──▶ waiting ───────────┘           ▲
///                            └── patience over, or task cancelled
/// ```
///
/// A call that has begun to run is not cancelled with its task: it is not alone in its statement.
final class StatementBatcher<Call: Sendable, Answer: Sendable>: Sendable {
    /// Runs calls as one, and answers each, in their order. Throws when the whole of it did not take effect.
    typealias Work = @Sendable ([Call]) async throws(PostgresError) -> [Answer]
    typealias Outcome = Result<Answer, PostgresError>

    /// Names a call, so that it can be found when its task is cancelled.
    private final class Token: Sendable {}

    private struct Waiting: Sendable {
        let call: Call
        let token: Token
        let since: ContinuousClock.Instant
        let continuation: CheckedContinuation<Outcome, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        var freeSlots: Int
    }

    private let limit: Int
    private let timeout: Duration
    private let work: Work
    private let state: Mutex<State>
    /// Ends the waits that last too long.
    private let timer = DeadlineTimer()

    /// - Parameters:
    ///   - lanes: how many batches run at a time.
    ///   - limit: how many calls run as one.
    ///   - patience: how long a call may wait for a lane.
    init(concurrency: Int = 2, limit: Int = 32, timeout: Duration, work: @escaping Work) {
        self.limit = limit
        self.timeout = timeout
        self.work = work
        state = Mutex(State(freeSlots: concurrency))
    }

    func answer(_ call: Call) async throws(PostgresError) -> Answer {
        let token = Token()
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                admit(Waiting(call: call, token: token, since: .now, continuation: continuation))
            }
        } onCancel: {
            withdraw(token)
        }
        return try outcome.get()
    }

    private func admit(_ newcomer: Waiting) {
        let (batch, isRefused) = state.withLock { state -> ([Waiting], Bool) in
            // Under the lock: a task that is cancelled later finds the call in the line.
            if Task.isCancelled { return ([], true) }
            state.waiting.append(newcomer)
            guard state.freeSlots > 0 else { return ([], false) }
            state.freeSlots -= 1
            return (takeBatch(&state), false)
        }
        if isRefused {
            newcomer.continuation.resume(returning: .failure(Self.error(.cancelled)))
        } else if batch.isEmpty {
            timer.start { [self] in expire() }
        } else {
            Task.detached { [self] in await drive(batch) }
        }
    }

    /// One lane: batch after batch, until nobody waits.
    private func drive(_ first: [Waiting]) async {
        var batch = first
        while !batch.isEmpty {
            await run(batch)
            batch = state.withLock { state in
                if state.waiting.isEmpty { state.freeSlots += 1 }
                return takeBatch(&state)
            }
        }
    }

    private func takeBatch(_ state: inout State) -> [Waiting] {
        let batch = Array(state.waiting.prefix(limit))
        state.waiting.removeFirst(batch.count)
        return batch
    }

    /// When the server refused the statement, which then did nothing, each call of it runs alone: only the one that it
    /// was refused for fails.
    private func run(_ batch: [Waiting]) async {
        do throws(PostgresError) {
            let answers = try await work(batch.map(\.call))
            for (waiting, answer) in zip(batch, answers) { waiting.continuation.resume(returning: .success(answer)) }
        } catch {
            if batch.count > 1, error.isRefusal {
                for waiting in batch { Task.detached { [self] in await run([waiting]) } }
            } else {
                for waiting in batch { waiting.continuation.resume(returning: .failure(error)) }
            }
        }
    }

    // MARK: - Those who leave without having run

    private func withdraw(_ token: Token) {
        let withdrawn = state.withLock { state -> Waiting? in
            guard let index = state.waiting.firstIndex(where: { $0.token === token }) else { return nil }
            return state.waiting.remove(at: index)
        }
        withdrawn?.continuation.resume(returning: .failure(Self.error(.cancelled)))
    }

    /// Answers whoever waited long enough. Returns when to look again, nil when nobody waits.
    private func expire() -> ContinuousClock.Instant? {
        let (expired, next) = state.withLock { state -> ([Waiting], ContinuousClock.Instant?) in
            let latest = ContinuousClock.now - timeout
            let expired = Array(state.waiting.prefix { $0.since <= latest })
            state.waiting.removeFirst(expired.count)
            return (expired, state.waiting.first.map { $0.since + timeout })
        }
        for waiting in expired { waiting.continuation.resume(returning: .failure(Self.error(.acquireTimedOut))) }
        return next
    }

    private static func error(_ code: PostgresError.Code) -> PostgresError {
        PostgresError(code, operation: .query, location: "\(#fileID):\(#line)")
    }
}

extension PostgresError {
    /// The statement did nothing, for a reason that may lie in one of its values.
    fileprivate var isRefusal: Bool {
        switch code {
        case .server, .encoding: true
        default: false
        }
    }
}
