import Synchronization

/// The keys of one provider: which are published, which one signs, and their rotation.
///
/// A revoked key is no longer published but still known, so that a token can be minted with it.
final class ProviderKeys: Sendable {
    /// The differences between the providers' key sets.
    struct Profile: Sendable {
        /// The part of the names in the store before the hyphen and the number.
        var storeName: String
        /// Published keys at the start.
        var initialCount: Int
        /// The most published keys after a rotation; beyond it the oldest is withdrawn.
        var rotationLimit: Int
        /// Whether the order changes from one fetch to the next.
        var shuffles: Bool
        var cacheControl: String?
        var makeID: @Sendable (_ ordinal: Int) -> String

        fileprivate func makeKey(_ ordinal: Int, id: String? = nil, from store: KeyStore) -> SigningKey {
            SigningKey(id: id ?? makeID(ordinal), name: "\(storeName)-\(ordinal)", from: store)
        }
    }

    /// The most keys: more than any verifier should accept from one set, and few enough to be generated in seconds.
    static let capacity = 64

    private struct State {
        var keys: [SigningKey]
        var published: [String]
        var signing: String
        var ordinal: Int
        var fetches = 0
        var cacheControl: String?
    }

    private let profile: Profile
    private let store: KeyStore
    private let initial: State
    private let state: Mutex<State>

    init(profile: Profile, store: KeyStore) {
        self.profile = profile
        self.store = store
        let keys = (0..<profile.initialCount).map { profile.makeKey($0, from: store) }
        initial = State(
            keys: keys, published: keys.map(\.id), signing: keys.first?.id ?? "", ordinal: profile.initialCount,
            cacheControl: profile.cacheControl)
        state = Mutex(initial)
    }

    /// Restores the initial keys without generating any again.
    func reset() { state.withLock { $0 = initial } }

    /// All keys, as the control API lists them.
    var listing: [JSONObject] {
        state.withLock { state in
            state.keys.map { key in
                [
                    "keyId": key.id, "published": state.published.contains(key.id),
                    "signing": key.id == state.signing,
                ]
            }
        }
    }

    var cacheControl: String? {
        get { state.withLock { $0.cacheControl } }
        set { state.withLock { $0.cacheControl = newValue } }
    }

    /// The published keys in the order of this fetch. Apple's order changes between fetches: a client that takes the
    /// first key fails on the second fetch.
    func fetch() -> [SigningKey] {
        state.withLock { state in
            let published = state.keys.filter { state.published.contains($0.id) }
            guard profile.shuffles, !published.isEmpty else { return published }
            let start = state.fetches % published.count
            state.fetches += 1
            return Array(published[start...] + published[..<start])
        }
    }

    /// The key of this id, revoked or not, or the one that signs.
    func key(_ id: String?) -> SigningKey? {
        state.withLock { state in state.keys.first { $0.id == id ?? state.signing } }
    }

    /// Adds a key that is published and signs from now on; beyond the provider's limit the oldest published one is
    /// withdrawn.
    func rotate() throws(ControlRefusal) {
        try state.withLock { state throws(ControlRefusal) in
            let key = try makeKey(nil, &state)
            state.published.append(key)
            state.signing = key
            if state.published.count > profile.rotationLimit { state.published.removeFirst() }
        }
    }

    /// Adds a key beside the one that signs.
    func add(id: String?, published: Bool) throws(ControlRefusal) {
        try state.withLock { state throws(ControlRefusal) in
            let key = try makeKey(id, &state)
            if published { state.published.append(key) }
        }
    }

    private func makeKey(_ chosen: String?, _ state: inout State) throws(ControlRefusal) -> String {
        guard state.keys.count < Self.capacity else {
            throw .conflict("There are \(Self.capacity) keys already; reset drops them.")
        }
        let id = chosen ?? profile.makeID(state.ordinal)
        guard !state.keys.contains(where: { $0.id == id }) else {
            throw .conflict("There is a key of that id already.")
        }
        state.keys.append(profile.makeKey(state.ordinal, id: id, from: store))
        state.ordinal += 1
        return id
    }

    /// Takes the key out of the published set. If it was the signing key, the youngest published one signs from now on.
    func revoke(id: String) throws(ControlRefusal) {
        try state.withLock { state throws(ControlRefusal) in
            guard let index = state.published.firstIndex(of: id) else {
                throw .notFound("There is no published key of that id.")
            }
            guard state.published.count > 1 else {
                throw .conflict("The last published key stays; a fault can answer an empty set.")
            }
            state.published.remove(at: index)
            if state.signing == id, let successor = state.published.last { state.signing = successor }
        }
    }
}
