import Primitives
import Synchronization

/// The attempts that an endpoint has under way, by all of its streams together: a dead one holds its own places, and none that
/// the others need.
final class WebhookPlaces: Sendable {
    private enum Party: Hashable, Sendable {
        case endpoint
        /// Half of the places at most, so that what is new always goes on.
        case replays
    }

    private let limit: @Sendable () -> Int
    private let inUse = Mutex(SharesInUse<Party>())

    init(_ limit: @escaping @Sendable () -> Int) { self.limit = limit }

    /// - Returns: `false` when there is none now.
    func take(forReplay isReplay: Bool) -> Bool {
        let shares = shares(isReplay)
        return inUse.withLock { $0.take(shares) }
    }

    func giveBack(forReplay isReplay: Bool) {
        let shares = shares(isReplay)
        inUse.withLock { $0.giveBack(shares) }
    }

    private func shares(_ isReplay: Bool) -> [Share<Party>] {
        let limit = limit()
        let all = Share(of: Party.endpoint, limit)
        return isReplay ? [all, Share(of: Party.replays, (limit + 1) / 2)] : [all]
    }
}
