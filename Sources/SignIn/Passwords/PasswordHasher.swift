package import Accounts
import Glibc
import Metrics
package import OpenSSL
import Primitives
import Synchronization

/// The hashing of passwords with scrypt (RFC 7914; N = 2¹⁷, r = 8, p = 1: 128 MiB and a third of a second each), a bounded
/// number at a time and never on an event loop.
///
/// Hashes that another system made are checked here too, until their owners have signed in (`ForeignPasswords`). They take no
/// more memory together than the limit. Beyond the slots a bounded number waits; beyond that the answer is
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
    private let memoryLimit: Int
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
        self.memoryLimit = memoryLimit
        self.places = FairLimit(running: slots, waiting: maximumWaiting)
        self.networkShare = max(1, (slots + maximumWaiting) * 2 / 3)
        let salt = try SecureRandom.bytes(16)
        self.decoy = PasswordHasher.format(cost, salt: salt, hash: SecretBytes(try SecureRandom.bytes(32)))
    }

    /// `$scrypt$ln=17,r=8,p=1$salt$hash`, salt and hash in base64url; of the password's normal form.
    ///
    /// - Parameter account: whose session asks for it, if one does.
    package func hash(
        _ password: String, in account: AccountID? = nil, by call: Call
    ) async throws(SignInFailure) -> PasswordHash {
        let (cost, normal) = (self.cost, PasswordSpellings(password).normal)
        return try await run(cost.memoryBytes, in: account, by: call) {
            await Self.onThread { Held(value: try Self.hash(normal, cost)) }
        }
    }

    private static func hash(_ password: String, _ cost: Scrypt.Cost) throws -> PasswordHash {
        let salt = try SecureRandom.bytes(16)
        let hash = try Scrypt.derive(password: Array(password.utf8), salt: salt, cost: cost, count: 32)
        return format(cost, salt: salt, hash: hash)
    }

    // MARK: Checking

    /// What a password is to a stored hash.
    package enum Outcome: Equatable, Sendable {
        case wrong
        case right
        /// Right by a hash of another system's. This one is ours, of the password's normal form.
        case rightByOther(PasswordHash)
    }

    /// Whether ``check(_:against:isHeld:in:by:)`` finds the password right.
    package func verify(
        _ password: String, against stored: PasswordHash?, isHeld: Bool = false, in account: AccountID? = nil,
        by call: Call
    ) async throws(SignInFailure) -> Bool {
        try await check(password, against: stored, isHeld: isHeld, in: account, by: call) != .wrong
    }

    /// Compares a password, in each of its spellings, with a stored hash; `nil` is an account without a password, or no
    /// account.
    ///
    /// What is wrong takes half as long again as the hashes of ours in this very check do, and keeps its place for as
    /// long. Ours are made beside a hash of another system too, which may be much quicker: so who was imported shows
    /// neither in the time of an answer nor in that of those who wait behind it, however busy the machine is.
    ///
    /// - Parameters:
    ///   - isHeld: whether what is right takes as long, as it may be refused all the same.
    ///   - account: whose session asks for it, if one does.
    package func check(
        _ password: String, against stored: PasswordHash?, isHeld: Bool = false, in account: AccountID? = nil,
        by call: Call
    ) async throws(SignInFailure) -> Outcome {
        let spellings = PasswordSpellings(password).all
        if let stored, !stored.isOwn, let other = ForeignPasswordHash(stored.text) {
            return try await check(spellings, against: other, isHeld: isHeld, in: account, by: call)
        }
        let parsed = stored.flatMap(PasswordHasher.parse)
        guard let (cost, salt, expected) = parsed ?? PasswordHasher.parse(decoy) else {
            throw .fault(operation: "read password hash")
        }
        return try await run(cost.memoryBytes, in: account, by: call) {
            await Self.onThread {
                let begin = ContinuousClock.now
                let isFound = try spellings.reduce(false) { isFound, spelling in
                    if isFound, !isHeld { return true }
                    let hash = try Scrypt.derive(
                        password: Array(spelling.utf8), salt: salt, cost: cost, count: expected.bytes.count)
                    return hash.matches(expected) || isFound
                }
                let isRight = isFound && parsed != nil
                return Held<Outcome>(
                    value: isRight ? .right : .wrong, until: isRight && !isHeld ? nil : Self.end(of: begin, by: .now))
            }
        }
    }

    private func check(
        _ spellings: [String], against other: ForeignPasswordHash, isHeld: Bool, in account: AccountID?, by call: Call
    ) async throws(SignInFailure) -> Outcome {
        let (cost, foreign) = (self.cost, self.foreign)
        let (ownBytes, bytes) = (cost.memoryBytes, other.memoryBytes)
        let isRoomy = ownBytes + bytes <= memoryLimit
        return try await run(isRoomy ? ownBytes + bytes : max(ownBytes, bytes), in: account, by: call) {
            // On a busy machine it has the lesser part, so that it slows down ours as little as can be.
            async let comparison = Self.onThread(niceness: 19) {
                try spellings.contains { try foreign.matches($0, other) }
            }
            // One after the other where there is no memory for both.
            if !isRoomy { _ = await comparison }
            let own = await Self.onThread {
                let begin = ContinuousClock.now
                let hashes = try spellings.map { try Self.hash($0, cost) }
                return Held(value: hashes[0], until: Self.end(of: begin, by: .now))
            }
            guard let comparison = await comparison, let own else { return nil }
            return Result {
                let (isRight, own) = (try comparison.get(), try own.get())
                return Held<Outcome>(
                    value: isRight ? .rightByOther(own.value) : .wrong, until: isRight && !isHeld ? nil : own.until)
            }
        }
    }

    /// When what is wrong may be answered whose hashes of ours have taken from `begin` to `now`.
    private static func end(
        of begin: ContinuousClock.Instant, by now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant {
        begin + (now - begin) * 3 / 2
    }

    /// How long what is wrong takes here. It is tried once; `nil` where it can't be.
    package func refusalTime() async -> Duration? {
        let cost = cost
        return await Self.timing { _ = try Self.hash("", cost) }.map { $0 * 3 / 2 }
    }

    /// Whether a check against the hash takes longer, or two of them find no memory together: then its time shows that an
    /// account was imported. It is tried once.
    package func exceeds(_ refusalTime: Duration?, _ hash: ForeignPasswordHash) async -> Bool {
        let foreign = foreign
        guard 2 * (cost.memoryBytes + hash.memoryBytes) <= memoryLimit, let refusalTime,
            let time = await Self.timing({ _ = try foreign.matches("", hash) })
        else { return true }
        return time > refusalTime
    }

    private static func timing(_ hash: @escaping @Sendable () throws -> Void) async -> Duration? {
        let time = await onThread {
            let begin = ContinuousClock.now
            try hash()
            return ContinuousClock.now - begin
        }
        return try? time?.get()
    }

    // MARK: Places

    /// What work has come to, and how long it keeps its place.
    private struct Held<Value: Sendable>: Sendable {
        let value: Value
        var until: ContinuousClock.Instant?
    }

    /// - Parameter work: `nil` where it gets no thread.
    private func run<Value: Sendable>(
        _ memoryBytes: Int, in account: AccountID?, by call: Call,
        _ work: () async -> Result<Held<Value>, any Error>?
    ) async throws(SignInFailure) -> Value {
        let shares = call.caller.shares(network: networkShare, of: account.map { ("\($0)", Self.accountShare) })
        let outcome = await places.admit(shares) { () async -> Result<Held<Value>, any Error>? in
            let result = await memory.admit(memoryBytes) { await work() }
            count.add(1, ordering: .relaxed)
            if case .success(let held)? = result, let end = held.until {
                // In a task of its own: whose caller has left keeps the place as well.
                await Task { _ = try? await Task.sleep(until: end) }.value
            }
            return result
        }
        switch outcome ?? nil {
        case .success(let held): return held.value
        case .failure(let error as OpenSSLError) where !error.isLackOfMemory:
            throw .fault(operation: error.operation)
        // Without a place, a thread or the memory. Of Argon2 and crypt(3) the cost was checked: they lack nothing else.
        case .failure, nil:
            refusals.increment()
            throw .overloaded(retryAfter: 1)
        }
    }

    /// - Parameter niceness: by which it yields to the threads that serve everything else; on Linux it is of a thread.
    private static func onThread<Value: Sendable>(
        niceness: Int32 = 10, _ work: @escaping @Sendable () throws -> Value
    ) async -> Result<Value, any Error>? {
        await withCheckedContinuation { continuation in
            let isStarted = DedicatedThread.start("password hash") {
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
                continuation.resume(returning: Result { try work() })
            }
            if !isStarted { continuation.resume(returning: nil) }
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
