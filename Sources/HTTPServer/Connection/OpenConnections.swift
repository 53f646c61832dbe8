import NIOCore
import Primitives
import Synchronization

/// The open connections of a listener: how many each network has, which are idle, and which receive a body.
///
/// A network is an IPv4 /24 or an IPv6 /64, and may have its share of the connections; the /16 or /48 around it, which one
/// customer can have all of, may have twice as much. When the listener is nearly full all the same, each new connection closes
/// one of those whose request has not arrived: the one that has been idle, or has been receiving a body, for longest.
/// Bodies that are being received have places of their own, of which a fourth of those shares holds: behind a proxy by the
/// address that it forwards, since its connections are everybody's and have no limit. When none is left, the network that has
/// most of them loses the one that it has been sending for longest.
final class OpenConnections: Sendable {
    /// A network by its bits, which those of the other version don't share.
    fileprivate enum Party: Hashable {
        case wideNetwork(UInt128)
        case network(UInt128)
    }

    /// One connection, as far as the others have to know of it.
    final class Entry: Sendable {
        fileprivate let shares: [Share<Party>]
        fileprivate let isTrusted: Bool
        fileprivate let peer: IPAddress
        private let channel: any Channel
        private let state = Atomic(Activity.idle(since: .now()).bits)

        fileprivate init(shares: [Share<Party>], isTrusted: Bool, peer: IPAddress, channel: any Channel) {
            self.shares = shares
            self.isTrusted = isTrusted
            self.peer = peer
            self.channel = channel
        }

        func becameBusy() { state.store(Activity.busy.bits, ordering: .relaxed) }

        func becameIdle() { state.store(Activity.idle(since: .now()).bits, ordering: .relaxed) }

        func beganReceiving() { state.store(Activity.receiving(since: .now()).bits, ordering: .relaxed) }

        fileprivate var activity: Activity { Activity(bits: state.load(ordering: .relaxed)) }

        /// Closes the connection unless it has gone on meanwhile.
        ///
        /// - Parameter completion: whether it was closed.
        fileprivate func close(if activity: Activity, _ completion: @escaping @Sendable (Bool) -> Void) {
            channel.eventLoop.execute { [self] in
                let isUnchanged = self.activity == activity && channel.isActive
                if isUnchanged { channel.close(promise: nil) }
                completion(isUnchanged)
            }
        }
    }

    /// What a connection does, since when by the uptime.
    fileprivate enum Activity: Equatable {
        /// A request is being handled.
        case busy
        case idle(since: NIODeadline)
        /// A header section has come, and not all of its body.
        case receiving(since: NIODeadline)

        init(bits: UInt64) {
            let since = NIODeadline.uptimeNanoseconds(bits & ~1)
            self = bits == 0 ? .busy : bits & 1 == 0 ? .idle(since: since) : .receiving(since: since)
        }

        /// In one word; a nanosecond more or less does not count.
        var bits: UInt64 {
            switch self {
            case .busy: 0
            case .idle(let since): since.uptimeNanoseconds & ~1
            case .receiving(let since): since.uptimeNanoseconds | 1
            }
        }
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var connections = SharesInUse<Party>()
        /// What each connection that receives a body counts for.
        var receiving: [ObjectIdentifier: [Share<Party>]] = [:]
        var bodies = SharesInUse<Party>()
        /// Those that were chosen to be closed, and are open still.
        var closing: Set<ObjectIdentifier> = []
    }

    private let share: Int
    private let nearlyFull: Int
    private let maximumBodies: Int
    private let trustedProxies: TrustedProxies
    private let metrics: RequestMetrics
    private let state = Mutex(State())

    init(limits: ServerLimits, trustedProxies: TrustedProxies, metrics: RequestMetrics) {
        share = limits.connectionsPerNetwork
        nearlyFull = limits.connections - limits.connections / 16
        maximumBodies = limits.bodies
        self.trustedProxies = trustedProxies
        self.metrics = metrics
    }

    /// The entry of a channel that has just been accepted. It counts when it is added.
    func entry(of channel: any Channel, peer: IPAddress) -> Entry {
        let isTrusted = trustedProxies.contains(peer)
        return Entry(
            shares: isTrusted ? [] : Self.shares(of: peer, network: share), isTrusted: isTrusted, peer: peer,
            channel: channel)
    }

    /// The widest first.
    private static func shares(of address: IPAddress, network limit: Int) -> [Share<Party>] {
        guard limit > 0 else { return [] }
        return [
            Share(of: .wideNetwork(address.wideNetworkBits), 2 * limit),
            Share(of: .network(address.networkBits), limit),
        ]
    }

    /// - Returns: `false` for a connection whose network has its share; it is to be closed.
    func add(_ entry: Entry) -> Bool {
        let (isAdded, waiting) = state.withLock { state -> (Bool, (entry: Entry, activity: Activity)?) in
            guard state.connections.take(entry.shares) else { return (false, nil) }
            state.entries[ObjectIdentifier(entry)] = entry
            guard state.entries.count - state.closing.count > nearlyFull,
                let waiting = Self.longestWaiting(of: state, but: entry)
            else { return (true, nil) }
            state.closing.insert(ObjectIdentifier(waiting.entry))
            return (true, waiting)
        }
        if isAdded { metrics.connectionOpened() } else { metrics.connectionRefused(.share) }
        if let waiting { close(waiting.entry, if: waiting.activity) }
        return isAdded
    }

    /// One that has gone on meanwhile may be chosen again.
    private func close(_ entry: Entry, if activity: Activity) {
        entry.close(if: activity) { [self] isClosed in
            if isClosed {
                metrics.connectionRefused(.full)
            } else {
                state.withLock { _ = $0.closing.remove(ObjectIdentifier(entry)) }
            }
        }
    }

    func remove(_ entry: Entry) {
        let wasAdded = state.withLock { state in
            state.closing.remove(ObjectIdentifier(entry))
            guard state.entries.removeValue(forKey: ObjectIdentifier(entry)) != nil else { return false }
            state.connections.giveBack(entry.shares)
            return true
        }
        if wasAdded { metrics.connectionClosed() }
    }

    /// The connections of trusted proxies stay, unless they are held up by a body, which is one client's.
    private static func longestWaiting(of state: State, but new: Entry) -> (entry: Entry, activity: Activity)? {
        var longest: (entry: Entry, activity: Activity, since: NIODeadline)?
        for (id, entry) in state.entries where entry !== new && !state.closing.contains(id) {
            let activity = entry.activity
            switch activity {
            case .idle(let since) where !entry.isTrusted && since < longest?.since ?? .distantFuture,
                .receiving(let since) where since < longest?.since ?? .distantFuture:
                longest = (entry, activity, since)
            case .idle, .receiving, .busy: break
            }
        }
        return longest.map { ($0.entry, $0.activity) }
    }
}

// MARK: - Bodies

extension OpenConnections {
    /// Counts a body that did not arrive with its header section.
    ///
    /// - Parameter fields: of its request; behind a proxy they name the client.
    /// - Returns: `false` when the client's network has its share; the request is to be rejected.
    func beginBody(of entry: Entry, forwardedFor fields: [String]) -> Bool {
        let client = trustedProxies.client(of: entry.peer, forwardedFor: fields)
        // Of a proxy that forwards no address nothing is known of the client.
        let shares = trustedProxies.contains(client) ? [] : Self.shares(of: client, network: (share + 3) / 4)
        let (isCounted, longest) = state.withLock { state -> (Bool, (entry: Entry, activity: Activity)?) in
            guard state.bodies.take(shares) else { return (false, nil) }
            state.receiving[ObjectIdentifier(entry)] = shares
            guard state.receiving.count > maximumBodies, let longest = Self.longestReceiving(of: state, but: entry)
            else { return (true, nil) }
            state.closing.insert(ObjectIdentifier(longest.entry))
            return (true, longest)
        }
        if let longest { close(longest.entry, if: longest.activity) }
        return isCounted
    }

    /// The body has come, or never will.
    func endBody(of entry: Entry) {
        state.withLock { state in
            guard let shares = state.receiving.removeValue(forKey: ObjectIdentifier(entry)) else { return }
            state.bodies.giveBack(shares)
        }
    }

    private static func longestReceiving(of state: State, but new: Entry) -> (entry: Entry, activity: Activity)? {
        var longest: (entry: Entry, activity: Activity, bodies: Int, since: NIODeadline)?
        for (id, shares) in state.receiving where !state.closing.contains(id) {
            guard let entry = state.entries[id], entry !== new, case .receiving(let since) = entry.activity else {
                continue
            }
            let bodies = shares.first.map { state.bodies.count(of: $0.party) } ?? 1
            if let longest, bodies < longest.bodies || bodies == longest.bodies && since >= longest.since { continue }
            longest = (entry, .receiving(since: since), bodies, since)
        }
        return longest.map { ($0.entry, $0.activity) }
    }
}

/// Why a connection was closed without an answer.
enum ConnectionRefusal: String, CaseIterable {
    /// Its network has as many as it may.
    case share
    /// It had been idle or receiving a body for longest when the listener was nearly full.
    case full
}
