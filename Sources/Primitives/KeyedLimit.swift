import Synchronization

/// Work by key: of one key only so much runs at a time, and a bounded number waits, in the order of arrival. What is more is
/// turned away at once. Keys don't wait for each other.
package final class KeyedLimit<Key: Hashable & Sendable>: Sendable {
    private struct Entry {
        let limit: FairLimit<Never>
        var callers = 0
    }

    private let running: Int
    private let waiting: Int
    private let entries = Mutex<[Key: Entry]>([:])

    package init(running: Int, waiting: Int) {
        self.running = running
        self.waiting = waiting
    }

    /// - Returns: `nil` when there is no place, and `work` was not run.
    package func admit<Value, Failure: Error>(
        _ key: Key, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value? {
        let limit = enter(key)
        defer { leave(key) }
        return try await limit.admit([], work)
    }

    private func enter(_ key: Key) -> FairLimit<Never> {
        entries.withLock { entries in
            var entry = entries[key] ?? Entry(limit: FairLimit(running: running, waiting: waiting))
            entry.callers += 1
            entries[key] = entry
            return entry.limit
        }
    }

    private func leave(_ key: Key) {
        entries.withLock { entries in
            guard var entry = entries[key] else { return }
            entry.callers -= 1
            entries[key] = entry.callers > 0 ? entry : nil
        }
    }
}
