import Synchronization

/// Work that together takes no more than so much of something, such as memory. Who comes waits until there is room, in the
/// order of arrival. The caller bounds how many come.
package final class WeightedLimit: Sendable {
    private struct Waiter {
        let weight: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var inUse = 0
        var waiting: [Waiter] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    package init(_ limit: Int) { self.limit = limit }

    /// - Parameter weight: what the work takes. What is over the whole limit runs alone.
    package func admit<Value: Sendable>(_ weight: Int, _ work: () async -> Value) async -> Value {
        let weight = min(max(0, weight), limit)
        await withCheckedContinuation { continuation in
            let isAdmitted = state.withLock { state in
                guard state.waiting.isEmpty, state.inUse + weight <= limit else {
                    state.waiting.append(Waiter(weight: weight, continuation: continuation))
                    return false
                }
                state.inUse += weight
                return true
            }
            if isAdmitted { continuation.resume() }
        }
        let value = await work()
        let admitted = state.withLock { state in
            state.inUse -= weight
            var admitted: [Waiter] = []
            while let next = state.waiting.first, state.inUse + next.weight <= limit {
                state.inUse += next.weight
                admitted.append(state.waiting.removeFirst())
            }
            return admitted
        }
        for waiter in admitted { waiter.continuation.resume() }
        return value
    }

    /// How much is taken.
    package var inUse: Int { state.withLock(\.inUse) }
}
