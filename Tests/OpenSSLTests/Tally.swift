import Synchronization

/// A counter for several threads.
final class Tally: Sendable {
    private let tally = Atomic(0)
    func add() { tally.add(1, ordering: .relaxed) }
    var count: Int { tally.load(ordering: .relaxed) }
}
