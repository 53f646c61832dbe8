import Foundation

/// A refresh that is made once for all who need one. It is a task of its own: it goes on for the others, and is kept, when
/// who asked for it gives up.
final class SharedRefresh<Success: Sendable>: Sendable {
    typealias Outcome = Result<Success, SessionError>

    private struct State {
        var underWay: Task<Outcome, Never>?
        /// Behind one that failed for now. A clock that is set back to before its begin ends it.
        var pause: Range<Date>?
        var generation = 0
        var waiters: [ObjectIdentifier: Waiter<Outcome>] = [:]
    }

    private let state = Locked(State())
    private let now: @Sendable () -> Date

    init(now: @escaping @Sendable () -> Date) { self.now = now }

    /// Whether one has just failed for now: for as long as the server has said, up to 5 min, or for 5 s. Who has a
    /// token to go on with asks for none meanwhile, as each would wait as long for an answer.
    var isPaused: Bool {
        let time = now()
        return state.withLock { $0.pause?.contains(time) ?? false }
    }

    /// Counts what ``renounce()`` has given up: a refresh that began under an earlier one changes nothing any more.
    var generation: Int { state.withLock { $0.generation } }

    var underWay: Task<Outcome, Never>? { state.withLock { $0.underWay } }

    /// What the refresh under way comes to, or one that begins with the generation as it is.
    func outcome(
        orOf refresh: @escaping @Sendable (_ generation: Int) async throws(SessionError) -> Success
    ) async throws(SessionError) -> Success {
        let waiter = Waiter<Outcome>()
        let id = ObjectIdentifier(waiter)
        let task = state.withLock { state in
            state.waiters[id] = waiter
            let task = state.underWay ?? begin(refresh, state.generation)
            state.underWay = task
            return task
        }
        defer { state.withLock { $0.waiters[id] = nil } }
        return try await CountersignClient.outcome(of: task, by: waiter)
    }

    private func begin(
        _ refresh: @escaping @Sendable (Int) async throws(SessionError) -> Success, _ generation: Int
    ) -> Task<Outcome, Never> {
        Task {
            let outcome: Outcome
            do throws(SessionError) { outcome = .success(try await refresh(generation)) } catch {
                outcome = .failure(error)
            }
            let next = pause(after: outcome)
            state.withLock { if $0.generation == generation { ($0.underWay, $0.pause) = (nil, next) } }
            return outcome
        }
    }

    private func pause(after outcome: Outcome) -> Range<Date>? {
        guard case .failure(.transient(let seconds, _)) = outcome else { return nil }
        let begin = now()
        return begin..<begin.addingTimeInterval(Double(min(max(seconds ?? 5, 0), 300)))
    }

    /// The one under way is for a session that is over: who needs one from now on begins another.
    func renounce() {
        state.withLock { state in
            state.generation += 1
            (state.underWay, state.pause) = (nil, nil)
        }
    }

    /// Ends the calls that wait, with `cancelled`. The refresh itself goes on.
    func releaseWaiters() {
        let waiters = state.withLock { $0.waiters }
        for waiter in waiters.values { waiter.finish(.failure(.cancelled)) }
    }
}
