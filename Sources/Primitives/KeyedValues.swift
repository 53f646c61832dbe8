import Synchronization

/// A value for each key that is in use: made for its first user, and gone with its last one.
package final class KeyedValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        let value: Value
        var users = 0
    }

    private let make: @Sendable (Key) -> Value
    private let entries = Mutex<[Key: Entry]>([:])

    package init(_ make: @escaping @Sendable (Key) -> Value) { self.make = make }

    /// The number of users, of all keys.
    package var userCount: Int { entries.withLock { $0.values.reduce(0) { $0 + $1.users } } }

    package func use<Result, Failure: Error>(
        _ key: Key, _ body: (Value) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let value = enter(key)
        defer { leave(key) }
        return try await body(value)
    }

    private func enter(_ key: Key) -> Value {
        entries.withLock { entries in
            var entry = entries[key] ?? Entry(value: make(key))
            entry.users += 1
            entries[key] = entry
            return entry.value
        }
    }

    private func leave(_ key: Key) {
        entries.withLock { entries in
            guard var entry = entries[key] else { return }
            entry.users -= 1
            entries[key] = entry.users > 0 ? entry : nil
        }
    }
}
