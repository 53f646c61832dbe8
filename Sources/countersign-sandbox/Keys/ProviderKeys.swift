import Synchronization

/// The keys of one provider: which are published, which one signs, and how they follow each other.
///
/// A revoked key is no longer published but still known, so that a token can be minted with it.
final class ProviderKeys: Sendable {
    /// What differs between the providers in how they show their keys.
    struct Profile: Sendable {
        /// Before the hyphen and the number in the store's names.
        var storeName: String
        /// Published keys at the start.
        var initialCount: Int
        /// Published keys at most after a rotation; the oldest goes.
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

    /// More keys than any verifier should accept from one set, and few enough to be generated in seconds.
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

    /// Back to the keys of the start, without generating anything again.
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

    /// The set as this fetch sees it. Apple's order changes between fetches; a reader that takes the first key fails
    /// here on the second fetch.
    func fetch() -> [SigningKey] {
        state.withLock { state in
            let published = state.keys.filter { state.published.contains($0.id) }
            guard profile.shuffles, !published.isEmpty else { return published }
            let turn = state.fetches % published.count
            state.fetches += 1
            return Array(published[turn...] + published[..<turn])
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

    /// A new key that is published and signs from now on; beyond the provider's limit the oldest published one goes.
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

    /// A new key beside the one that signs.
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

    /// Takes the key out of the published set. When it was the one that signs, the youngest published one takes over.
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
