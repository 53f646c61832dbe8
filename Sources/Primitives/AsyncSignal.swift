import Synchronization

/// Wakes tasks that wait for something to have changed, any number of them. It counts how often it was raised: who looks
/// first and then waits from the count of before misses nothing.
package final class AsyncSignal: Sendable {
    private struct State {
        var count: UInt64 = 0
        var nextWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        /// Those who are about to wait, and whether their time is over already.
        var early: [UInt64: Bool] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// How often it was raised.
    package var count: UInt64 { state.withLock { $0.count } }

    package func raise() {
        let woken = state.withLock { state in
            state.count += 1
            defer { state.waiters = [:] }
            return state.waiters.values.map(\.self)
        }
        for waiter in woken { waiter.resume() }
    }

    /// Returns when it has been raised more often than that, at the latest after `limit`, and when the task is cancelled.
    package func wait(past count: UInt64, atMost limit: Duration) async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            state.early[state.nextWaiter] = false
            return state.nextWaiter
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            wake(id)
        }
        defer {
            timer.cancel()
            _ = state.withLock { $0.early.removeValue(forKey: id) }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.count == count, state.early[id] == false else { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            wake(id)
        }
    }

    private func wake(_ id: UInt64) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: id)
            if state.early[id] != nil { state.early[id] = true }
            return waiter
        }
        waiter?.resume()
    }
}
