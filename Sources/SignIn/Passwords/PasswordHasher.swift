package import Accounts
import Glibc
import Metrics
package import OpenSSL
import Primitives
import Synchronization

/// The hashing of passwords with scrypt (RFC 7914; N = 2¹⁷, r = 8, p = 1: 128 MiB and a third of a second each), a bounded
/// number at a time and never on an event loop.
///
/// Hashes that another system made are checked here too, until their owners have signed in (`ForeignPasswords`). Memory is
/// `slots` × 256 MiB at most, and no more than the limit. Beyond the slots a bounded number waits; beyond that the answer is
/// ``SignInFailure/overloaded(retryAfter:)`` at once. Each party has its share of the slots, whether its passwords are
/// right or wrong, and parties are served in turn (`FairLimit`).
package final class PasswordHasher: Sendable {
    package static let cost = Scrypt.Cost(n: 1 << 17, r: 8, p: 1)
    /// The places of one account that is signed in. An address that is only tried has no share: who guesses at it would
    /// take that from its owner.
    private static let accountShare = 2

    private let cost: Scrypt.Cost
    private let places: FairLimit<Party>
    /// Two thirds of the places: what is left is for others at once, and of the rest they get theirs by being fewer.
    private let networkShare: Int
    private let count = Atomic(0)
    private let foreign: ForeignPasswords
    private let memory: WeightedLimit
    /// What a hash of ours takes of a processor, measured from the start on.
    private let ownTime: Task<Duration, Never>
    /// How long the last hash of ours took, and when it ended: on a busy machine longer.
    private let lastOwn = Mutex<(duration: Duration, end: ContinuousClock.Instant)?>(nil)
    /// The floor of one spelling goes no higher for a busy machine: a proxy or an app has to wait that long.
    private static let highestFloor = Duration.seconds(5)
    /// How long a refusal takes at least, from the beginning of the check: an imported hash may be quicker to check than one
    /// of ours, and would show who was imported.
    package var floor: Duration {
        get async {
            let least = await leastFloor
            let last = lastOwn.withLock { $0 }
            guard let last, last.end.advanced(by: .seconds(60)) > .now else { return least }
            return max(least, min(last.duration * 3 / 2, Self.highestFloor))
        }
    }
    private var leastFloor: Duration { get async { await ownTime.value * 3 / 2 } }
    /// The hash that stands in for an account without a password, so that its check takes as long as any other.
    private let decoy: PasswordHash
    private let refusals = Counter(label: "countersign_password_hashes_refused_total")

    /// - Parameter memoryLimit: of the hashes under way together, in bytes.
    package init(
        cost: Scrypt.Cost = PasswordHasher.cost, slots: Int = 2, maximumWaiting: Int = 16,
        foreign: ForeignPasswords = ForeignPasswords(), memoryLimit: Int = 512 << 20
    ) throws(OpenSSLError) {
        self.cost = cost
        self.foreign = foreign
        self.memory = WeightedLimit(memoryLimit)
        self.places = FairLimit(running: slots, waiting: maximumWaiting)
        self.networkShare = max(1, (slots + maximumWaiting) * 2 / 3)
        let salt = try SecureRandom.bytes(16)
        self.ownTime = Task {
            await PasswordHasher.time { _ = try? Scrypt.derive(password: [], salt: [], cost: cost, count: 32) }.used
        }
        self.decoy = PasswordHasher.format(cost, salt: salt, hash: SecretBytes(try SecureRandom.bytes(32)))
    }

    /// Whether a check against the hash takes longer here than a refusal is held back. It is tried once.
    package func exceedsFloor(_ hash: ForeignPasswordHash) async -> Bool {
        let foreign = foreign
        // Not what the thread uses: some kinds have threads of their own.
        let duration = await PasswordHasher.time { _ = try? foreign.matches("", hash) }.passed
        return await duration > leastFloor
    }

    /// How long a hash takes here, and what it takes of a processor by its thread, whatever else runs; a second, where there
    /// is no thread to try.
    private static func time(_ hash: @escaping @Sendable () -> Void) async -> (passed: Duration, used: Duration) {
        await withCheckedContinuation { continuation in
            let isStarted = DedicatedThread.start("password floor") {
                let begin = ContinuousClock.now
                hash()
                let passed = ContinuousClock.now - begin
                var used = timespec()
                unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used)
                continuation.resume(returning: (passed, .seconds(used.tv_sec) + .nanoseconds(used.tv_nsec)))
            }
            if !isStarted { continuation.resume(returning: (.seconds(1), .seconds(1))) }
        }
    }

    /// `$scrypt$ln=17,r=8,p=1$salt$hash`, salt and hash in base64url; of the password's normal form.
    ///
    /// - Parameter account: whose session asks for it, if one does.
    package func hash(
        _ password: String, in account: AccountID? = nil, by call: Call
    ) async throws(SignInFailure) -> PasswordHash {
        let (cost, normal) = (self.cost, PasswordSpellings(password).normal)
        return try await run(cost.memoryBytes, in: account, by: call) {
            let salt = try SecureRandom.bytes(16)
            let hash = try Scrypt.derive(password: Array(normal.utf8), salt: salt, cost: cost, count: 32)
            return PasswordHasher.format(cost, salt: salt, hash: hash)
        }
    }

    /// Whether the password is the one that was hashed, in one of its spellings. `nil`, an account without a password or no
    /// account, takes the same time and is false; whatever is false takes ``floor`` at least, for each spelling.
    ///
    /// - Parameter account: whose session asks for it, if one does.
    package func verify(
        _ password: String, against stored: PasswordHash?, in account: AccountID? = nil, by call: Call
    ) async throws(SignInFailure) -> Bool {
        let spellings = PasswordSpellings(password).all
        let floor = await floor * spellings.count
        let (matches, end) =
            if let stored, !stored.isOwn, let hash = ForeignPasswordHash(stored.text) {
                try await run(hash.memoryBytes, in: account, by: call) { [foreign] in
                    let end = ContinuousClock.now + floor
                    return (try spellings.contains { try foreign.matches($0, hash) }, end)
                }
            } else {
                try await matches(spellings, own: stored, floor: floor, in: account, by: call)
            }
        if !matches { try? await Task.sleep(until: end) }
        return matches
    }

    /// - Returns: besides, when a refusal may be answered.
    private func matches(
        _ spellings: [String], own stored: PasswordHash?, floor: Duration, in account: AccountID?, by call: Call
    ) async throws(SignInFailure) -> (Bool, ContinuousClock.Instant) {
        let parsed = stored.flatMap(PasswordHasher.parse)
        guard let (cost, salt, expected) = parsed ?? PasswordHasher.parse(decoy) else {
            throw .fault(operation: "read password hash")
        }
        return try await run(cost.memoryBytes, in: account, by: call) {
            let end = ContinuousClock.now + floor
            let isFound = try spellings.contains { spelling in
                let begin = ContinuousClock.now
                let hash = try Scrypt.derive(
                    password: Array(spelling.utf8), salt: salt, cost: cost, count: expected.bytes.count)
                let now = ContinuousClock.now
                self.lastOwn.withLock { $0 = (now - begin, now) }
                return hash.matches(expected)
            }
            return (isFound && parsed != nil, end)
        }
    }

    private func run<Result: Sendable>(
        _ memoryBytes: Int, in account: AccountID?, by call: Call,
        _ work: @escaping @Sendable () throws -> Result
    ) async throws(SignInFailure) -> Result {
        let shares = call.caller.shares(network: networkShare, of: account.map { ("\($0)", Self.accountShare) })
        let outcome = await places.admit(shares) { () async -> Swift.Result<Result, any Error>? in
            defer { count.add(1, ordering: .relaxed) }
            return await memory.admit(memoryBytes) { () async -> Swift.Result<Result, any Error>? in
                await withCheckedContinuation { continuation in
                    let isStarted = DedicatedThread.start("password hash") {
                        // Yields to the threads that serve everything else; on Linux the call applies to the calling
                        // thread.
                        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                        continuation.resume(returning: Swift.Result { try work() })
                    }
                    if !isStarted { continuation.resume(returning: nil) }
                }
            }
        }
        switch outcome ?? nil {
        case .success(let result): return result
        case .failure(let error as OpenSSLError) where !error.isLackOfMemory:
            throw .fault(operation: error.operation)
        // Without a place, a thread or the memory. Of Argon2 and crypt(3) the cost was checked: they lack nothing else.
        case .failure, nil:
            refusals.increment()
            throw .overloaded(retryAfter: 1)
        }
    }

    /// The number of passwords hashed so far: right ones, wrong ones and decoys.
    package var finished: Int { count.load(ordering: .relaxed) }

    /// The number of hashes under way, and of callers that wait for a slot.
    package var occupancy: (running: Int, waiting: Int) { places.occupancy }

    private static func format(_ cost: Scrypt.Cost, salt: [UInt8], hash: SecretBytes) -> PasswordHash {
        let exponent = cost.n.trailingZeroBitCount
        let parameters = "ln=\(exponent),r=\(cost.r),p=\(cost.p)"
        return PasswordHash("$scrypt$\(parameters)$\(Base64URL.encode(salt))$\(Base64URL.encode(hash.bytes))")
    }

    private static func parse(_ stored: PasswordHash) -> (cost: Scrypt.Cost, salt: [UInt8], hash: SecretBytes)? {
        let fields = stored.text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 5, fields[0].isEmpty, fields[1] == "scrypt" else { return nil }
        var parameters: [Substring: UInt32] = [:]
        for parameter in fields[2].split(separator: ",") {
            let pair = parameter.split(separator: "=")
            guard pair.count == 2, let value = UInt32(pair[1]) else { return nil }
            parameters[pair[0]] = value
        }
        // A row that asks for more than a gigabyte was not written by us.
        guard let exponent = parameters["ln"], let r = parameters["r"], let p = parameters["p"],
            (1...20).contains(exponent), (1...8).contains(r), (1...8).contains(p),
            let salt = Base64URL.decode(String(fields[3])), let hash = Base64URL.decode(String(fields[4])),
            hash.count == 32
        else { return nil }
        return (Scrypt.Cost(n: 1 << UInt64(exponent), r: r, p: p), salt, SecretBytes(hash))
    }
}

extension Scrypt.Cost {
    fileprivate var memoryBytes: Int { Int(clamping: 128 * n * UInt64(r)) }
}

extension OpenSSLError {
    /// `ERR_R_MALLOC_FAILURE`, by its text.
    fileprivate var isLackOfMemory: Bool { reason == "malloc failure" }
}
