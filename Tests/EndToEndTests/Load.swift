import Synchronization

/// What several callers do until they are told to stop, counted.
final class Load: Sendable {
    private let state = Mutex<(isOver: Bool, counts: [String: Int])>((false, [:]))

    var isOver: Bool { state.withLock(\.isOver) }

    var counts: [String: Int] { state.withLock(\.counts) }

    func end() { state.withLock { $0.isOver = true } }

    func count(_ what: String) { state.withLock { $0.counts[what, default: 0] += 1 } }
}
