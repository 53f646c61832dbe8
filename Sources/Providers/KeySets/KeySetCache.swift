package import Accounts
package import Curl
package import JOSE
package import Logging
import Metrics
import Primitives
import Synchronization

/// One provider's published keys: fetched ahead of need, read without waiting.
///
/// - A key that is in the set is returned at once, whatever is being fetched and however it ends.
/// - There is never more than one fetch at a time; callers that need its result wait for that one, up to ``places`` of them.
///   Each of them has a permit of a listener, and needs no credential for it.
/// - A set is fetched again when four fifths of its lifetime have passed, in the background.
/// - A failed fetch, and a document without a usable key is one, changes nothing but the time of the next try. After 24
///   hours without a good one the keys are no longer trusted, and then every token is `keysUnavailable`: a key that the
///   provider has withdrawn must stop working eventually.
/// - A `kid` that isn't in the set may be a new key's, so it brings forward a fetch, but once a minute at most: any client
///   can make up a `kid`. Between two of those fetches it is `keyUnknown` at once, to be tried again behind the next one.
/// - The provider's own token endpoint makes up no `kid`: for one in its answer the keys are fetched again (``refetch()``).
///
/// Fetches are tasks of their own and end by the fetcher's timeout or its shutdown.
package final class KeySetCache: Sendable {
    /// Seconds for which a set is trusted after the fetch that brought it.
    package static let longestOutage: Int64 = 86_400
    /// Seconds between two fetches on behalf of unknown `kid`s.
    package static let unknownKeyInterval: Int64 = 60
    /// Seconds after a good fetch until the next one on behalf of those that the provider itself has sent.
    static let refetchInterval: Int64 = 5
    /// How many callers wait for a fetch: a quarter of the requests that a listener handles.
    package static let places = 64

    private struct State {
        var snapshot: KeySetSnapshot?
        var fetch: Task<Void, Never>?
        var forcedAt: Int64?
        var failedAt: Int64?
        var failuresInARow = 0
        var failures = 0

        /// Seconds until the next fetch after failed ones: 1, 2, 4 and so on, at most five minutes. At most four seconds
        /// without usable keys, because then every sign-in fails.
        func pause(at now: Int64) -> Int64 {
            guard let failedAt else { return 0 }
            let longest: Int64 = snapshot?.isTrusted(at: now) == true ? 300 : 4
            return remaining(of: min(1 << min(max(0, failuresInARow - 1), 16), longest), since: failedAt, at: now)
        }
    }

    private enum Step {
        case use(KeySet)
        /// - Parameter reason: of the refusal where there is no place to wait.
        case wait(Task<Void, Never>, reason: TokenRejection)
        case refuse(CredentialRefusal)
    }

    package let provider: Provider
    private let request: FetchRequest
    private let fetcher: any Fetcher
    private let clock: any WallClock
    private let logger: Logger
    private let waiting = FairLimit<Never>(running: KeySetCache.places)
    private let state = Mutex(State())
    private let good: Counter
    private let failed: Counter

    package init(provider: Provider, url: String, fetcher: any Fetcher, clock: any WallClock, logger: Logger) {
        self.provider = provider
        self.fetcher = fetcher
        self.clock = clock
        request = PublishedKeySet.request(url)
        let label = "countersign_key_set_fetches_total"
        good = Counter(label: label, dimensions: [("provider", provider.rawValue), ("outcome", "fetched")])
        failed = Counter(label: label, dimensions: [("provider", provider.rawValue), ("outcome", "failed")])
        var logger = logger
        logger[metadataKey: "provider"] = "\(provider.rawValue)"
        self.logger = logger
    }

    // MARK: Reading

    /// A set that contains `keyID`.
    package func keys(for keyID: [UInt8]) async throws(CredentialRefusal) -> KeySet {
        var hasWaited = false
        // Terminates: each iteration waits for one whole fetch, and none starts a second one within its interval.
        while true {
            let now = clock.now().seconds
            switch state.withLock({ step(to: keyID, after: hasWaited, at: now, in: &$0) }) {
            case .use(let keys): return keys
            case .wait(let fetch, let reason):
                let end: Void? = await waiting.admit { await fetch.value }
                guard end != nil else { throw CredentialRefusal(reason, retryAfter: 1) }
                hasWaited = true
            case .refuse(let refusal): throw refusal
            }
        }
    }

    /// - Parameter hasWaited: for a fetch: the set is as new as can be if that was good.
    private func step(to keyID: [UInt8], after hasWaited: Bool, at now: Int64, in state: inout State) -> Step {
        guard let snapshot = state.snapshot, snapshot.isTrusted(at: now) else {
            if let fetch = state.fetch { return .wait(fetch, reason: .keysUnavailable) }
            let pause = state.pause(at: now)
            guard pause == 0 else { return .refuse(CredentialRefusal(.keysUnavailable, retryAfter: pause)) }
            // The set that this one brings is recent enough for the `kid` that caused it.
            state.forcedAt = now
            return .wait(start(in: &state), reason: .keysUnavailable)
        }
        if state.fetch == nil, snapshot.isDue(at: now), state.pause(at: now) == 0 { _ = start(in: &state) }
        if snapshot.keys.key(id: keyID) != nil { return .use(snapshot.keys) }
        if let fetch = state.fetch { return .wait(fetch, reason: .keyUnknown) }
        let wait = state.forcedAt.map { remaining(of: Self.unknownKeyInterval, since: $0, at: now) } ?? 0
        guard wait == 0 else {
            let isNew = hasWaited && state.failedAt == nil
            return .refuse(CredentialRefusal(.keyUnknown, retryAfter: isNew ? nil : wait))
        }
        state.forcedAt = now
        return .wait(start(in: &state), reason: .keyUnknown)
    }

    // MARK: Fetching

    /// Keeps the set fresh until the task is cancelled, while `isInUse`. Without it the set is still fetched, by the first
    /// request that finds it missing or due.
    ///
    /// It checks every `interval`: due times are seconds of a wall clock that may be set, so there is no instant to sleep
    /// until.
    package func run(
        every interval: Duration = .seconds(1), while isInUse: @Sendable () -> Bool = { true }
    ) async {
        while !Task.isCancelled {
            if isInUse() { await refresh() }
            // Throws only when cancelled, and then the loop ends.
            try? await Task.sleep(for: interval)
        }
    }

    /// Fetches if a fetch is due, or waits for the one that is under way.
    package func refresh() async { await refresh { state, now in state.snapshot?.isDue(at: now) ?? true } }

    /// Fetches a set that may have a key which is not in this one, or waits for the fetch that is under way.
    func refetch() async {
        await refresh { state, now in
            state.snapshot.map { remaining(of: Self.refetchInterval, since: $0.fetchedAt, at: now) } ?? 0 == 0
        }
    }

    private func refresh(where isDue: (State, Int64) -> Bool) async {
        let now = clock.now().seconds
        let fetch = state.withLock { state -> Task<Void, Never>? in
            if let fetch = state.fetch { return fetch }
            return isDue(state, now) && state.pause(at: now) == 0 ? start(in: &state) : nil
        }
        await fetch?.value
    }

    private func start(in state: inout State) -> Task<Void, Never> {
        let fetch = Task { await self.fetch() }
        state.fetch = fetch
        return fetch
    }

    private func fetch() async {
        // The age of a set counts from the request, not from the response.
        let now = clock.now().seconds
        do throws(KeySetFetchFailure) {
            let snapshot = try await download(at: now)
            let before = state.withLock { state in
                defer {
                    state.snapshot = snapshot
                    state.fetch = nil
                    state.failedAt = nil
                    state.failuresInARow = 0
                }
                return state.snapshot?.keys
            }
            good.increment()
            report(snapshot, after: before)
        } catch {
            failed.increment()
            let retryAfter = state.withLock { state in
                state.fetch = nil
                state.failedAt = now
                state.failuresInARow += 1
                state.failures += 1
                return state.pause(at: now)
            }
            logger.warning(
                "key set not refreshed",
                metadata: ["reason": "\(error.reason)", "retryAfterSeconds": "\(retryAfter)"])
        }
    }

    private func download(at now: Int64) async throws(KeySetFetchFailure) -> KeySetSnapshot {
        let fetched = try await PublishedKeySet(request, fetcher: fetcher)
        return KeySetSnapshot(keys: fetched.keys, fetchedAt: now, lifetime: fetched.lifetime)
    }

    private func report(_ snapshot: KeySetSnapshot, after before: KeySet?) {
        let keys = snapshot.keys
        let isChanged = keys.keyIDs != before?.keyIDs
        logger.log(
            level: isChanged ? .info : .debug, "key set fetched",
            metadata: ["keys": "\(keys.count)", "refreshInSeconds": "\(snapshot.refreshAt - snapshot.fetchedAt)"])
        guard isChanged else { return }
        for rejected in keys.rejected {
            // With a published private key anyone can sign in as any person, until the provider withdraws it.
            logger.log(
                level: rejected.reason == .privateKeyPublished ? .critical : .warning, "key left out",
                metadata: ["kid": "\(rejected.keyID ?? "")", "reason": "\(rejected.reason.rawValue)"])
        }
    }
}

/// The seconds left of `interval`. A clock that was set back ends the wait.
private func remaining(of interval: Int64, since start: Int64, at now: Int64) -> Int64 {
    now < start ? 0 : max(0, interval - (now - start))
}

// MARK: For health and metrics

extension KeySetCache {
    package struct Status: Sendable, Equatable {
        /// The number of keys in use; 0 without a set, or when it is no longer trusted.
        package let keyCount: Int
        /// Seconds since the last good fetch.
        package let age: Int64?
        package let failures: Int

        package init(keyCount: Int, age: Int64?, failures: Int) {
            self.keyCount = keyCount
            self.age = age
            self.failures = failures
        }
    }

    package var status: Status {
        let now = clock.now().seconds
        return state.withLock { state in
            let snapshot = state.snapshot
            return Status(
                keyCount: snapshot?.isTrusted(at: now) == true ? snapshot?.keys.count ?? 0 : 0,
                age: snapshot.map { max(0, now - $0.fetchedAt) }, failures: state.failures)
        }
    }
}
