/// Shows each observer the state of the session, and then each change.
final class SessionStates: Sendable {
    private struct State {
        var last: SessionState?
        var observers: [Int: AsyncStream<SessionState>.Continuation] = [:]
        var next = 0
    }

    private let state = Locked(State())

    deinit {
        for observer in state.withLock({ $0.observers }).values { observer.finish() }
    }

    /// A stream that begins with the last state, if there has been one.
    func stream() -> AsyncStream<SessionState> {
        AsyncStream { continuation in
            // Under the lock, so that no change falls between the first state and the next.
            let id = state.withLock { state in
                if let last = state.last { continuation.yield(last) }
                state.next += 1
                state.observers[state.next] = continuation
                return state.next
            }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.observers.removeValue(forKey: id) }
            }
        }
    }

    var last: SessionState? { state.withLock { $0.last } }
    /// By the last state.
    var isSignedIn: Bool { if case .signedIn = last { true } else { false } }

    /// Shows a state, unless it is the last one.
    func announce(_ new: SessionState) {
        state.withLock { state in
            guard state.last != new else { return }
            state.last = new
            for observer in state.observers.values { observer.yield(new) }
        }
    }
}
