import Glibc
import Metrics
package import OpenSSL
import Primitives
import Synchronization

/// The hashing of passwords with scrypt (RFC 7914; N = 2¹⁷, r = 8, p = 1: 128 MiB and a third of a second each), a bounded
/// number at a time and never on an event loop.
///
/// Memory is `slots` × 128 MiB at most. Beyond the slots a bounded number waits; beyond that the answer is
/// ``SignInFailure/overloaded(retryAfter:)`` at once. A quarter of the places to wait is kept for networks from which a
/// right password has come to this process before, and for sessions: guesses and registrations from ever new networks can't
/// fill the queue for the others.
package final class PasswordHasher: Sendable {
    package static let cost = Scrypt.Cost(n: 1 << 17, r: 8, p: 1)

    /// Who waits for a password to be hashed or checked.
    package enum Asker: Sendable {
        /// A person who is signed in.
        case session
        /// Somebody in a network, an IPv4 /24 or an IPv6 /64; `nil` where it isn't known.
        case network(String?)
    }

    private struct Load {
        var running = 0
        var finished = 0
        var waiting: [CheckedContinuation<Bool, Never>] = []
        /// Networks from which a right password has come, and when by the count of all hashes.
        var trusted: [String: Int] = [:]
    }

    /// The networks that are remembered; the one that was right longest ago makes room.
    private static let maximumTrusted = 4096

    private let cost: Scrypt.Cost
    private let slots: Int
    private let maximumWaiting: Int
    private let load = Mutex(Load())
    /// The hash that stands in for an account without a password, so that its check takes as long as any other.
    private let decoy: String
    private let refusals = Counter(label: "countersign_password_hashes_refused_total")

    package init(cost: Scrypt.Cost = PasswordHasher.cost, slots: Int = 2, maximumWaiting: Int = 16) throws(OpenSSLError)
    {
        self.cost = cost
        self.slots = slots
        self.maximumWaiting = maximumWaiting
        self.decoy = PasswordHasher.format(
            cost, salt: try SecureRandom.bytes(16), hash: SecretBytes(try SecureRandom.bytes(32)))
    }

    /// `$scrypt$ln=17,r=8,p=1$salt$hash`, salt and hash in base64url.
    ///
    /// - Parameter asker: who waits for it.
    package func hash(_ password: String, by asker: Asker) async throws(SignInFailure) -> String {
        let cost = self.cost
        return try await run(isTrusted: isTrusted(asker)) { () throws(OpenSSLError) in
            let salt = try SecureRandom.bytes(16)
            let hash = try Scrypt.derive(password: Array(password.utf8), salt: salt, cost: cost, count: 32)
            return PasswordHasher.format(cost, salt: salt, hash: hash)
        }
    }

    /// Whether the password is the one that was hashed. `nil`, an account without a password or no account, takes the
    /// same time and is false.
    ///
    /// - Parameter asker: who waits for it.
    package func verify(
        _ password: String, against stored: String?, by asker: Asker
    ) async throws(SignInFailure) -> Bool {
        let parsed = stored.flatMap(PasswordHasher.parse)
        guard let (cost, salt, expected) = parsed ?? PasswordHasher.parse(decoy) else {
            throw .fault(operation: "read password hash")
        }
        let matches = try await run(isTrusted: isTrusted(asker)) { () throws(OpenSSLError) in
            let hash = try Scrypt.derive(
                password: Array(password.utf8), salt: salt, cost: cost, count: expected.bytes.count)
            return hash.matches(expected)
        }
        let isRight = matches && parsed != nil
        if isRight, case .network(let network?) = asker { trust(network) }
        return isRight
    }

    private func isTrusted(_ asker: Asker) -> Bool {
        switch asker {
        case .session: true
        case .network(let network): network.map { network in load.withLock { $0.trusted[network] != nil } } ?? false
        }
    }

    private func trust(_ network: String) {
        load.withLock { load in
            if load.trusted[network] == nil, load.trusted.count >= Self.maximumTrusted,
                let oldest = load.trusted.min(by: { $0.value < $1.value })
            {
                load.trusted[oldest.key] = nil
            }
            load.trusted[network] = load.finished
        }
    }

    private func run<Result: Sendable>(
        isTrusted: Bool, _ work: @escaping @Sendable () throws(OpenSSLError) -> Result
    ) async throws(SignInFailure) -> Result {
        try await acquireSlot(isTrusted: isTrusted)
        defer { releaseSlot() }
        let result: Result? = await withCheckedContinuation { continuation in
            let isStarted = DedicatedThread.start("scrypt") {
                // Yields to the threads that serve everything else; on Linux the call applies to the calling thread.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                continuation.resume(returning: try? work())
            }
            if !isStarted { continuation.resume(returning: nil) }
        }
        guard let result else { throw .fault(operation: "scrypt") }
        return result
    }

    private func acquireSlot(isTrusted: Bool) async throws(SignInFailure) {
        let isGranted = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let immediate: Bool? = load.withLock { load in
                if load.running < slots {
                    load.running += 1
                    return true
                }
                let places = isTrusted ? maximumWaiting : maximumWaiting - maximumWaiting / 4
                guard load.waiting.count < places else { return false }
                load.waiting.append(continuation)
                return nil
            }
            if let immediate { continuation.resume(returning: immediate) }
        }
        guard isGranted else {
            refusals.increment()
            throw .overloaded(retryAfter: 1)
        }
    }

    /// Hands the slot to the caller that has waited longest.
    private func releaseSlot() {
        let next: CheckedContinuation<Bool, Never>? = load.withLock { load in
            load.finished += 1
            guard load.waiting.isEmpty else { return load.waiting.removeFirst() }
            load.running -= 1
            return nil
        }
        next?.resume(returning: true)
    }

    /// The number of passwords hashed so far: right ones, wrong ones and decoys.
    package var finished: Int { load.withLock(\.finished) }

    /// The number of hashes under way, and of callers that wait for a slot.
    package var occupancy: (running: Int, waiting: Int) { load.withLock { ($0.running, $0.waiting.count) } }

    private static func format(_ cost: Scrypt.Cost, salt: [UInt8], hash: SecretBytes) -> String {
        let exponent = cost.n.trailingZeroBitCount
        return
            "$scrypt$ln=\(exponent),r=\(cost.r),p=\(cost.p)$\(Base64URL.encode(salt))$\(Base64URL.encode(hash.bytes))"
    }

    private static func parse(_ stored: String) -> (cost: Scrypt.Cost, salt: [UInt8], hash: SecretBytes)? {
        let fields = stored.split(separator: "$", omittingEmptySubsequences: false)
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
