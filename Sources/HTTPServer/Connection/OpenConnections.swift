import NIOCore
import Synchronization

/// The open connections of a listener: how many each network has, and which of them has been idle longest.
///
/// A network is an IPv4 /24 or an IPv6 /64. One that has its share gets no more, so that nobody takes all connections. When
/// the listener is nearly full all the same, each new connection closes the one that has been idle longest. Neither holds
/// for trusted proxies: their connections are everybody's.
final class OpenConnections: Sendable {
    /// One connection, as far as the others have to know of it.
    final class Entry: Sendable {
        fileprivate let network: UInt128?
        private let channel: any Channel
        /// The uptime in nanoseconds since which no request is under way; 0 while one is.
        private let idleSince = Atomic<UInt64>(NIODeadline.now().uptimeNanoseconds)

        init(network: UInt128?, channel: any Channel) {
            self.network = network
            self.channel = channel
        }

        func becameBusy() { idleSince.store(0, ordering: .relaxed) }

        func becameIdle() { idleSince.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed) }

        /// Nil while a request is under way.
        fileprivate var idle: UInt64? {
            let since = idleSince.load(ordering: .relaxed)
            return since == 0 ? nil : since
        }

        /// Closes the connection unless a request has come meanwhile.
        ///
        /// - Parameter completion: whether it was closed.
        fileprivate func closeIfIdle(since: UInt64, _ completion: @escaping @Sendable (Bool) -> Void) {
            channel.eventLoop.execute { [self] in
                let isIdle = idle == since && channel.isActive
                if isIdle { channel.close(promise: nil) }
                completion(isIdle)
            }
        }
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var counts: [UInt128: Int] = [:]
        /// Those that were chosen to be closed, and are open still.
        var closing: Set<ObjectIdentifier> = []
    }

    private let share: Int
    private let nearlyFull: Int
    private let trustedProxies: TrustedProxies
    private let metrics: RequestMetrics
    private let state = Mutex(State())

    init(limits: ServerLimits, trustedProxies: TrustedProxies, metrics: RequestMetrics) {
        share = limits.connectionsPerNetwork
        nearlyFull = limits.connections - limits.connections / 16
        self.trustedProxies = trustedProxies
        self.metrics = metrics
    }

    /// The entry of a channel that has just been accepted. It counts when it is added.
    func entry(of channel: any Channel, peer: ClientAddress) -> Entry {
        Entry(network: trustedProxies.contains(peer) ? nil : peer.networkBits, channel: channel)
    }

    /// - Returns: `false` for a connection whose network has its share; it is to be closed.
    func add(_ entry: Entry) -> Bool {
        let (isAdded, idlest) = state.withLock { state -> (Bool, (entry: Entry, since: UInt64)?) in
            if let network = entry.network {
                let count = state.counts[network, default: 0]
                guard share == 0 || count < share else { return (false, nil) }
                state.counts[network] = count + 1
            }
            state.entries[ObjectIdentifier(entry)] = entry
            guard state.entries.count - state.closing.count > nearlyFull,
                let idlest = Self.idlest(of: state, but: entry)
            else { return (true, nil) }
            state.closing.insert(ObjectIdentifier(idlest.entry))
            return (true, idlest)
        }
        if !isAdded { metrics.connectionRefused(.share) }
        if let idlest { close(idlest.entry, idleSince: idlest.since) }
        return isAdded
    }

    /// One that was used meanwhile may be chosen again.
    private func close(_ entry: Entry, idleSince: UInt64) {
        entry.closeIfIdle(since: idleSince) { [self] isClosed in
            if isClosed {
                metrics.connectionRefused(.full)
            } else {
                state.withLock { _ = $0.closing.remove(ObjectIdentifier(entry)) }
            }
        }
    }

    func remove(_ entry: Entry) {
        state.withLock { state in
            state.closing.remove(ObjectIdentifier(entry))
            guard state.entries.removeValue(forKey: ObjectIdentifier(entry)) != nil, let network = entry.network else {
                return
            }
            let left = state.counts[network, default: 1] - 1
            state.counts[network] = left == 0 ? nil : left
        }
    }

    private static func idlest(of state: State, but new: Entry) -> (entry: Entry, since: UInt64)? {
        var idlest: (entry: Entry, since: UInt64)?
        for (id, entry) in state.entries where entry !== new && entry.network != nil && !state.closing.contains(id) {
            if let since = entry.idle, since < idlest?.since ?? .max { idlest = (entry, since) }
        }
        return idlest
    }
}

/// Why a connection was closed without an answer.
enum ConnectionRefusal: String, CaseIterable {
    /// Its network has as many as it may.
    case share
    /// It was idle longest when the listener was nearly full.
    case full
}
