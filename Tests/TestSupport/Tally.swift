import Synchronization

/// A counter for several threads.
package final class Tally: Sendable {
    private let total = Atomic(0)

    package var count: Int { total.load(ordering: .relaxed) }

    package init() {}

    package func add() { total.add(1, ordering: .relaxed) }
}
