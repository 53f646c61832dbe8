public import Foundation

/// A store that ends with the process: for tests, and for apps that ask for a sign-in at each start.
public final class InMemorySessionStore: SessionStore {
    private let data: Locked<Data?>

    /// - Parameter data: what the store holds at first.
    public init(_ data: Data? = nil) { self.data = Locked(data) }

    public func load() -> Data? { data.withLock { $0 } }

    public func save(_ data: Data) { self.data.withLock { $0 = data } }

    public func remove() { data.withLock { $0 = nil } }
}

extension InMemorySessionStore: Redacted {
    public var description: String { "InMemorySessionStore(\(load()?.count ?? 0) bytes)" }
}
