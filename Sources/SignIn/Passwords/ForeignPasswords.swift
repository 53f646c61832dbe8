package import Accounts
import Crypt
import OpenSSL
import Primitives

/// The check of a password against a hash that another system made.
package struct ForeignPasswords: Sendable {
    /// The parameters of a Firebase project's hashes, from its console.
    package struct Firebase: Sendable {
        package static let signerKeyByteCount = 64

        package let signerKey: [UInt8]
        package let saltSeparator: [UInt8]
        /// 1 to 8.
        package let rounds: UInt32
        /// The logarithm of N: 1 to 14.
        package let memoryCost: UInt64

        package init(signerKey: [UInt8], saltSeparator: [UInt8], rounds: UInt32, memoryCost: UInt64) {
            self.signerKey = signerKey
            self.saltSeparator = saltSeparator
            self.rounds = rounds
            self.memoryCost = memoryCost
        }
    }

    private let firebase: Firebase?

    package init(firebase: Firebase? = nil) { self.firebase = firebase }

    /// The kinds that can be checked here and now.
    package var kinds: Set<ForeignPasswordHash.Kind> {
        var kinds = Set(ForeignPasswordHash.Kind.allCases).subtracting([.encrypted, .unknown])
        if firebase == nil { kinds.remove(.firebase) }
        if Argon2.shared == nil { kinds.remove(.argon2) }
        return kinds
    }

    /// Whether the password, in this spelling, is the one that was hashed. Slow: not for an event loop.
    ///
    /// - Throws: what says nothing of the password: there is no memory.
    func matches(_ password: String, _ hash: ForeignPasswordHash) throws -> Bool {
        // HMAC pads a key with NUL, so one more at its end would fit as well; and crypt(3) ends at the first.
        guard !password.utf8.contains(0) else { return false }
        let bytes = Array(password.utf8)
        switch hash.scheme {
        case .crypt(let setting, let isOfDigest):
            let input = isOfDigest ? Hexadecimal.encode(SHA256.hash(bytes)) : password
            return try Crypt.hash(input, setting: setting, memoryBytes: hash.memoryBytes)
                .map { constantTimeEquals($0, setting) } ?? false
        case .argon2(let cost):
            guard let library = Argon2.shared else { return false }
            let key = library.hash(
                bytes, salt: cost.salt, variant: cost.variant == .i ? .i : .id, version: cost.version,
                kibibytes: cost.kibibytes, passes: cost.passes, lanes: cost.lanes, count: cost.key.count)
            guard let key else { throw Argon2Failure() }
            return constantTimeEquals(key, cost.key)
        case .pbkdf2(let cost):
            let digest: PBKDF2.Digest =
                switch cost.digest {
                case .sha1: .sha1
                case .sha256: .sha256
                case .sha512: .sha512
                }
            return try PBKDF2.derive(
                password: bytes, salt: cost.salt, digest: digest, iterations: cost.iterations, count: cost.key.count
            ).matches(cost.key)
        case .scrypt(let cost):
            return try Scrypt.derive(
                password: bytes, salt: cost.salt, cost: Scrypt.Cost(n: cost.n, r: cost.r, p: cost.p),
                count: cost.key.count
            ).matches(cost.key)
        case .firebase(let salt, let expected):
            guard let firebase else { return false }
            let key = try Scrypt.derive(
                password: bytes, salt: salt + firebase.saltSeparator,
                cost: Scrypt.Cost(n: 1 << firebase.memoryCost, r: firebase.rounds, p: 1), count: 32)
            let made = try AES256CTR.encrypt(firebase.signerKey, key: key.bytes, iv: [UInt8](repeating: 0, count: 16))
            return constantTimeEquals(made, expected)
        }
    }
}

/// Its cost was checked: what it lacks is memory.
private struct Argon2Failure: Error {}
