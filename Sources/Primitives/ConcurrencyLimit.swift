import Synchronization

/// Work of which only so much runs at a time; what is more is turned away at once and doesn't wait.
package final class ConcurrencyLimit: Sendable {
    private let limit: Int
    private let running = Mutex(0)

    package init(_ limit: Int) {
        self.limit = limit
    }

    /// Room for one piece of work, until it is freed.
    package final class Place: Sendable {
        private let limit: ConcurrencyLimit

        fileprivate init(in limit: ConcurrencyLimit) { self.limit = limit }

        deinit { limit.running.withLock { $0 -= 1 } }
    }

    /// Room for work that outlives the call which begins it; `nil` when as much is running already.
    package func acquire() -> Place? {
        let isAdmitted = running.withLock { running in
            guard running < limit else { return false }
            running += 1
            return true
        }
        return isAdmitted ? Place(in: self) : nil
    }

    /// - Returns: `nil` when as much is running already, and `work` was not run.
    package func admit<Value, Failure: Error>(
        _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value? {
        guard let place = acquire() else { return nil }
        defer { withExtendedLifetime(place) {} }
        return try await work()
    }
}
