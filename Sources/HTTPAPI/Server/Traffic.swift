import Synchronization

/// What the connections of one listener share: how many requests are being handled, and whether the listener is closing.
///
/// Each priority may take its share of the places only, all priorities together counted. So what can wait is refused first,
/// and however many sign in, some places are left for whoever takes access away.
final class Traffic: Sendable {
    private let places: Int
    private let handled = Atomic<Int>(0)
    private let draining = Atomic<Bool>(false)

    init(places: Int) { self.places = places }

    /// Whether one more request may be handled. Each `true` is followed by one `leave()`.
    func enter(_ priority: Route.Priority) -> Bool {
        guard handled.add(1, ordering: .relaxed).newValue <= priority.share(of: places) else {
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

/// Why a request is refused before anything is done for it: the reason of its log line, and of the metrics.
enum Overload: String, CaseIterable {
    case noPlace = "no_place"
    case waitedTooLong = "waited_too_long"
}

extension Route.Priority {
    /// How many requests may be handled for one more of this priority to be let in.
    fileprivate func share(of places: Int) -> Int {
        switch self {
        case .reading: max(1, places / 2)
        case .signingIn: max(1, places / 4 * 3)
        case .revoking: places
        case .observing: .max
        }
    }
}
