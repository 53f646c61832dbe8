import Synchronization

/// A load that several tasks produce until it ends, counted by outcome.
final class Load: Sendable {
    private let state = Mutex<(isOver: Bool, counts: [String: Int])>((false, [:]))

    var isOver: Bool { state.withLock(\.isOver) }

    var counts: [String: Int] { state.withLock(\.counts) }

    func end() { state.withLock { $0.isOver = true } }

    func count(_ outcome: String) { state.withLock { $0.counts[outcome, default: 0] += 1 } }
}
