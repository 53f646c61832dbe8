/// One value that is waited for by one task. The first value counts.
final class Waiter<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case waiting(CheckedContinuation<Value, Never>)
        case finished(Value)
    }

    private let state = Locked(State.empty)

    func finish(_ value: Value) {
        let waiting = state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .empty:
                state = .finished(value)
                return nil
            case .waiting(let continuation):
                state = .finished(value)
                return continuation
            case .finished: return nil
            }
        }
        waiting?.resume(returning: value)
    }

    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let value = state.withLock { state -> Value? in
                    if case .finished(let value) = state { return value }
                    state = .waiting(continuation)
                    return nil
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }
}

/// What a task comes to. Ends with `cancelled`, and leaves the task alone, as soon as the caller's task is cancelled.
///
/// - Parameters:
///   - waiter: by which others may end the wait.
///   - onCancel: what else is to be done then.
func outcome<Success: Sendable>(
    of task: Task<Result<Success, SessionError>, Never>, by waiter: Waiter<Result<Success, SessionError>> = Waiter(),
    onCancel: @escaping @Sendable () -> Void = {}
) async throws(SessionError) -> Success {
    Task { waiter.finish(await task.value) }
    return try await withTaskCancellationHandler {
        await waiter.value
    } onCancel: {
        waiter.finish(.failure(.cancelled))
        onCancel()
    }.get()
}
