import Synchronization

/// Work of which only so much runs at a time; what is more is turned away at once and doesn't wait.
package final class ConcurrencyLimit: Sendable {
    private let limit: Int
    private let running = Mutex(0)

    package init(_ limit: Int) {
        self.limit = limit
    }

    /// - Returns: `nil` when as much is running already, and `work` was not run.
    package func admit<Value, Failure: Error>(
        _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value? {
        let isAdmitted = running.withLock { running in
            guard running < limit else { return false }
            running += 1
            return true
        }
        guard isAdmitted else { return nil }
        defer { running.withLock { $0 -= 1 } }
        return try await work()
    }
}
