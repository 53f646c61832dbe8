import Accounts
import KeyRing
import OpenSSL
import Storage

/// The rate limits of guesses, registrations and mails. They throttle and never lock: a limited caller goes on after a
/// wait, and signing in by a provider's token is not limited.
struct RateLimiter: Sendable {
    private let limits: [LimitKind: RateLimit]
    private let store: RateLimitStore
    let knownNetworks: KnownNetworks
    /// The keys in the database are keyed digests: a dump of it names no address and no network.
    private let subkey: KeyRing.Subkey
    let refusals: RefusalAggregator
    let clock: any WallClock
    private let usedUp = CaseCounters<LimitKind>(label: "countersign_limit_refusals_total", by: "limit")
    let wrongGuesses = CaseCounters<GuessKind>(label: "countersign_wrong_guesses_total", by: "kind")

    init(
        _ limits: [LimitKind: RateLimit], store: RateLimitStore, knownNetworks: KnownNetworks, keyRing: KeyRing,
        refusals: RefusalAggregator, clock: any WallClock
    ) {
        self.limits = limits
        self.store = store
        self.knownNetworks = knownNetworks
        // Not the current subkey: while the key ring rotates, processes differ in it, and each would count by itself.
        self.subkey =
            keyRing.all(for: .codes).min { $0.keyID.utf8.lexicographicallyPrecedes($1.keyID.utf8) }
            ?? keyRing.current(for: .codes)
        self.refusals = refusals
        self.clock = clock
    }

    /// The owner of an allowance.
    enum Subject: Sendable {
        /// An address, account or network, for all who draw on it.
        case everybody(String)
        /// What one network, one session or the notices that say the same may draw for an address.
        case one(String, of: String)
        case service
        /// All that one party can have of a wide network, for a limit that is configured per network.
        case wideNetwork(String)
    }

    /// How much more a wide network may draw than a network, where it has no limit of its own: as the default of guesses.
    private static let wideNetworkFactor = 20

    /// Counts one use.
    ///
    /// - Parameters:
    ///   - subject: the owner of the allowance; `nil` is not limited.
    ///   - account: that a refusal is recorded at, if any.
    /// - Throws: ``SignInFailure/rateLimited(_:retryAfter:)`` when the allowance is used up.
    func draw(
        _ kind: LimitKind, of subject: String?, in account: AccountID? = nil, by call: Call
    ) async throws(SignInFailure) {
        guard let subject, let wait = try await wait(kind, of: .everybody(subject)) else { return }
        throw refusal(kind, wait, in: account, by: call)
    }

    /// Counts one use, and takes it back unless the body succeeds.
    func drawing<Value>(
        _ kind: LimitKind, of subject: String?, by call: Call, _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        try await drawing(kind, of: subject, by: call, counting: { _ in true }, body)
    }

    /// Counts one use, and takes it back unless the body succeeds with what counts as one.
    func drawing<Value>(
        _ kind: LimitKind, of subject: String?, in account: AccountID? = nil, by call: Call,
        counting isUse: (Value) -> Bool, _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        try await draw(kind, of: subject, in: account, by: call)
        do throws(SignInFailure) {
            let value = try await body()
            if !isUse(value) { await putBack(kind, of: subject) }
            return value
        } catch {
            await putBack(kind, of: subject)
            throw error
        }
    }

    /// Counts one use.
    ///
    /// - Parameter isRehearsal: whether none is counted, by the same work.
    /// - Returns: `nil`, or the seconds after which there is something left again.
    func wait(_ kind: LimitKind, of subject: Subject, isRehearsal: Bool = false) async throws(SignInFailure) -> Int64? {
        guard let (count, seconds) = allowance(kind, subject) else { return nil }
        let key = try key(kind, subject, seconds: seconds)
        return try await stored {
            try await store.draw(
                key, isRehearsal: isRehearsal, count: count, seconds: seconds, by: clock.call(by: .service))
        }
    }

    /// Whether an allowance is used up.
    func isUsedUp(_ kind: LimitKind, of subject: Subject) async throws(SignInFailure) -> Bool {
        guard let (count, seconds) = allowance(kind, subject) else { return false }
        let key = try key(kind, subject, seconds: seconds)
        return try await stored {
            try await store.isUsedUp(key, count: count, seconds: seconds, by: clock.call(by: .service))
        }
    }

    /// The failure of a use that is refused, which is counted and recorded.
    ///
    /// - Parameters:
    ///   - address: whose account it was at, if it was at one.
    ///   - account: the same, where it is known.
    func refusal(
        _ kind: LimitKind, _ wait: Int64, of address: EmailAddress? = nil, in account: AccountID? = nil, by call: Call
    ) -> SignInFailure {
        noteRefusal(kind, of: address, in: account, by: call)
        return .rateLimited(kind, retryAfter: wait)
    }

    /// Counts and records that an allowance was used up, whatever the answer says. The parameters are those of
    /// ``refusal(_:_:of:in:by:)``.
    func noteRefusal(
        _ kind: LimitKind, of address: EmailAddress? = nil, in account: AccountID? = nil, by call: Call
    ) {
        noteUsedUp(kind)
        let origin = call.origin
        let isAdministrator = origin.actor == .administrator || origin.actor == .operator
        var event = AuditEvent(
            .rateLimited, by: isAdministrator ? origin.actor : .person, in: call, accountID: account,
            reason: kind.rawValue)
        if isAdministrator { event.actorName = origin.actorName }
        refusals.note(event, of: address, at: clock.now())
    }

    func noteUsedUp(_ kind: LimitKind) { usedUp.count(kind) }

    /// Takes one use back. If that fails, it stays counted for as long as any other.
    func putBack(_ kind: LimitKind, of subject: String?) async {
        await putBack(kind, of: subject.map(Subject.everybody))
    }

    func putBack(_ kind: LimitKind, of subject: Subject?) async {
        guard let subject, let (count, seconds) = allowance(kind, subject),
            let key = try? key(kind, subject, seconds: seconds)
        else { return }
        try? await store.putBack(key, count: count, seconds: seconds)
    }

    /// - Returns: `nil` when there is no limit.
    private func allowance(_ kind: LimitKind, _ subject: Subject) -> (count: Int, seconds: Int)? {
        guard case .limit(let count, let seconds) = limits[kind] ?? .none else { return nil }
        guard case .wideNetwork = subject else { return (count, seconds) }
        return (count * Self.wideNetworkFactor, seconds)
    }

    /// The period is a part of it, and the count is not: processes count together for as long as their periods are the same.
    private func key(_ kind: LimitKind, _ subject: Subject, seconds: Int) throws(SignInFailure) -> [UInt8] {
        // Neither a network nor a session nor an address has a blank in it, no notice begins as one of these is written, and no
        // limit has a name with a dot.
        let name =
            switch subject {
            case .everybody(let subject), .wideNetwork(let subject): "\(kind.rawValue) \(subject)"
            case .one(let one, let subject): "\(kind.rawValue).one \(one) \(subject)"
            case .service: "\(kind.rawValue)"
            }
        do {
            let message = Array("countersign limit 2 \(seconds) \(name)".utf8)
            return try HMACSHA256.authenticationCode(for: message, key: subkey.bytes).bytes
        } catch {
            throw .fault(operation: "limit key")
        }
    }
}

// MARK: - Networks

extension RateLimiter {
    /// Counts one use by the caller's network, and by the wide network that it may have all of: else one customer, who gets
    /// an IPv6 /48, would be 65,536 networks.
    ///
    /// - Parameters:
    ///   - kind: a limit per network.
    ///   - prefix: not empty for allowances of their own.
    /// - Throws: ``SignInFailure/rateLimited(_:retryAfter:)`` when either allowance is used up; nothing is counted then.
    func drawNetworks(_ kind: LimitKind, prefix: String = "", by call: Call) async throws(SignInFailure) {
        let allowances = Self.networks(kind, prefix: prefix, by: call)
        for (index, (kind, subject)) in allowances.enumerated() {
            do throws(SignInFailure) {
                if let wait = try await wait(kind, of: subject) { throw refusal(kind, wait, by: call) }
            } catch {
                for (kind, subject) in allowances[..<index] { await putBack(kind, of: subject) }
                throw error
            }
        }
    }

    /// Takes back what ``drawNetworks(_:by:)`` has counted.
    func putBackNetworks(_ kind: LimitKind, by call: Call) async {
        for (kind, subject) in Self.networks(kind, by: call) { await putBack(kind, of: subject) }
    }

    private static func networks(
        _ kind: LimitKind, prefix: String = "", by call: Call
    ) -> [(kind: LimitKind, subject: Subject)] {
        let wide: [(LimitKind, Subject)] =
            call.caller.wideNetwork.map { "\(prefix)\($0)" }.map { network in
                // Only this limit has a key of its own for wide networks.
                kind == .guessPerNetwork ? (.guessPerWideNetwork, .everybody(network)) : (kind, .wideNetwork(network))
            }.map { [$0] } ?? []
        return (call.caller.network.map { [(kind, .everybody("\(prefix)\($0)"))] } ?? []) + wide
    }
}
