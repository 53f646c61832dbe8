import Synchronization

/// What the connections of one listener share: how many requests are being handled, and whether the listener is closing.
final class Traffic: Sendable {
    private let limit: Int
    private let handled = Atomic<Int>(0)
    private let draining = Atomic<Bool>(false)

    init(limit: Int) { self.limit = limit }

    /// Whether one more request may be handled. Each `true` is followed by one `leave()`.
    func enter() -> Bool {
        guard handled.add(1, ordering: .relaxed).newValue <= limit else {
            leave()
            return false
        }
        return true
    }

    func leave() { handled.subtract(1, ordering: .relaxed) }

    /// From here on each answer ends its connection.
    func drain() { draining.store(true, ordering: .relaxed) }

    var isDraining: Bool { draining.load(ordering: .relaxed) }
}
