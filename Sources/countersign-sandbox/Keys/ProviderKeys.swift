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

    struct Listing: Sendable {
        let id: String
        let isPublished: Bool
        let isSigning: Bool
    }

    enum Failure: Error {
        case unknown
        case taken
        case last
        case full
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
    func reset() {
        state.withLock { $0 = initial }
    }

    var listing: [Listing] {
        state.withLock { state in
            state.keys.map { key in
                Listing(
                    id: key.id, isPublished: state.published.contains(key.id), isSigning: key.id == state.signing)
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

    func signing() throws(Failure) -> SigningKey {
        let key = state.withLock { state in state.keys.first { $0.id == state.signing } }
        guard let key else { throw .unknown }
        return key
    }

    func key(id: String) throws(Failure) -> SigningKey {
        let key = state.withLock { state in state.keys.first { $0.id == id } }
        guard let key else { throw .unknown }
        return key
    }

    /// Adds a key that is published and signs from now on; beyond the provider's limit the oldest published one is
    /// withdrawn.
    func rotate() throws(Failure) -> SigningKey {
        let result: Result<SigningKey, Failure> = state.withLock { state in
            guard state.keys.count < Self.capacity else { return .failure(.full) }
            let key = profile.makeKey(state.ordinal, from: store)
            state.ordinal += 1
            state.keys.append(key)
            state.published.append(key.id)
            state.signing = key.id
            if state.published.count > profile.rotationLimit { state.published.removeFirst() }
            return .success(key)
        }
        return try result.get()
    }

    /// Adds a key beside the one that signs.
    func add(id: String?, published: Bool) throws(Failure) -> SigningKey {
        let result: Result<SigningKey, Failure> = state.withLock { state in
            guard state.keys.count < Self.capacity else { return .failure(.full) }
            let id = id ?? profile.makeID(state.ordinal)
            guard !state.keys.contains(where: { $0.id == id }) else { return .failure(.taken) }
            let key = profile.makeKey(state.ordinal, id: id, from: store)
            state.ordinal += 1
            state.keys.append(key)
            if published { state.published.append(id) }
            return .success(key)
        }
        return try result.get()
    }

    /// Takes the key out of the published set. If it was the signing key, the youngest published one signs from now on.
    func revoke(id: String) throws(Failure) {
        let failure: Failure? = state.withLock { state in
            guard let index = state.published.firstIndex(of: id) else { return .unknown }
            guard state.published.count > 1 else { return .last }
            state.published.remove(at: index)
            if state.signing == id, let successor = state.published.last { state.signing = successor }
            return nil
        }
        if let failure { throw failure }
    }
}
