import Accounts
import KeyRing
import Metrics
import OpenSSL
import Storage

/// The rate limits of guesses, registrations and mails. They throttle and never lock: a limited caller goes on after a
/// wait, and signing in by a provider's token is not limited.
struct RateLimiter: Sendable {
    private let limits: [LimitKind: RateLimit]
    private let store: RateLimitStore
    /// The keys in the database are keyed digests: a dump of it names no address and no network.
    private let subkey: KeyRing.Subkey
    private let refusals: RefusalAggregator
    private let clock: any WallClock
    private let counters: [LimitKind: Counter]

    init(
        _ limits: [LimitKind: RateLimit], store: RateLimitStore, keyRing: KeyRing, refusals: RefusalAggregator,
        clock: any WallClock
    ) {
        self.limits = limits
        self.store = store
        // Not the current subkey: while the key ring rotates, processes differ in it, and each would count by itself.
        self.subkey =
            keyRing.all(for: .codes).min { $0.keyID.utf8.lexicographicallyPrecedes($1.keyID.utf8) }
            ?? keyRing.current(for: .codes)
        self.refusals = refusals
        self.clock = clock
        counters = Dictionary(
            uniqueKeysWithValues: LimitKind.allCases.map {
                ($0, Counter(label: "countersign_limit_refusals_total", dimensions: [("limit", $0.rawValue)]))
            })
    }

    /// Counts one use.
    ///
    /// - Parameter subject: the owner of the allowance; `nil` is not limited.
    /// - Throws: ``SignInFailure/rateLimited(_:retryAfter:)`` when the allowance is used up.
    func draw(_ kind: LimitKind, of subject: String?, by client: Client) async throws(SignInFailure) {
        guard case .limit(let count, let seconds) = limits[kind] ?? .none, let subject else { return }
        let key = try key(kind, subject)
        let wait: Int64?
        do {
            wait = try await store.draw(key, count: count, seconds: seconds, at: clock.now())
        } catch {
            throw SignInFailure(StorageFailure(error))
        }
        guard let wait else { return }
        counters[kind]?.increment()
        refusals.note(.rateLimited, reason: kind.rawValue, network: client.network, requestID: client.requestID)
        throw .rateLimited(kind, retryAfter: wait)
    }

    /// Takes one use back. If that fails, it stays counted for as long as any other.
    func putBack(_ kind: LimitKind, of subject: String?) async {
        guard case .limit(let count, let seconds) = limits[kind] ?? .none, let subject,
            let key = try? key(kind, subject)
        else { return }
        try? await store.putBack(key, count: count, seconds: seconds)
    }

    /// Runs a guess. It is counted beforehand, so that concurrent guesses are counted too; only a wrong one stays counted.
    ///
    /// - Parameter account: the account whose password is guessed at, as a key of its allowance; `nil` for other guesses.
    func guessing<Proven: Sendable>(
        atPasswordOf account: String?, by client: Client, _ guess: () async throws(SignInFailure) -> Proven
    ) async throws(SignInFailure) -> Proven {
        try await draw(.guessPerNetwork, of: client.network, by: client)
        do throws(SignInFailure) {
            try await draw(.passwordPerAccount, of: account, by: client)
        } catch {
            await putBack(.guessPerNetwork, of: client.network)
            throw error
        }
        let outcome: Result<Proven, SignInFailure>
        do throws(SignInFailure) {
            outcome = .success(try await guess())
        } catch {
            if case .invalidCredentials = error {
                refusals.note(
                    .guessRejected, reason: account == nil ? "email_code" : "password", network: client.network,
                    requestID: client.requestID)
                throw error
            }
            outcome = .failure(error)
        }
        await putBack(.passwordPerAccount, of: account)
        await putBack(.guessPerNetwork, of: client.network)
        return try outcome.get()
    }

    private func key(_ kind: LimitKind, _ subject: String) throws(SignInFailure) -> [UInt8] {
        do {
            return try HMACSHA256.authenticationCode(
                for: Array("countersign limit 1 \(kind.rawValue) \(subject)".utf8), key: subkey.bytes)
        } catch {
            throw .fault(operation: "limit key")
        }
    }
}
