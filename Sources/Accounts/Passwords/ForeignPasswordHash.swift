import Primitives

/// The hash of a password as another system made it, read and within the caps: what is checked until its owner has signed in
/// once. It is read when it comes in and again before each use, as a row could name a cost that no machine has.
///
/// | form of the text | kind |
/// |---|---|
/// | `$2a$ $2b$ $2y$`, `bcrypt_sha256$…` | bcrypt |
/// | `$y$…` | yescrypt |
/// | `$argon2i$ $argon2id$`, `argon2$argon2id$…` | argon2 |
/// | `pbkdf2_sha256$…`, `pbkdf2_sha1$…`, `$pbkdf2$…`, `$pbkdf2-sha256$…`, `$pbkdf2-sha512$…` | pbkdf2 |
/// | `scrypt$N$salt$r$p$key`, `$scrypt$ln=17,r=8,p=1$…` and the same without its first `$` | scrypt |
/// | `salt:key`, in hexadecimal | better-auth |
/// | `firebase$salt$hash` | firebase |
/// | `keycloak$pbkdf2-sha256$iterations$salt$key`, `keycloak$argon2id$…` | keycloak |
///
/// `$2x$` is left out: it differs from `$2a$` for passwords that are not ASCII.
package struct ForeignPasswordHash: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case bcrypt
        case yescrypt
        case argon2
        case pbkdf2
        case scrypt
        case firebase
        case betterAuth = "better-auth"
        case keycloak
        /// Sealed by the system before, with a key that does not come along.
        case encrypted
        case unknown
    }

    package enum Scheme: Sendable {
        /// crypt(3), of the password or of the lower-case hexadecimal SHA-256 of it.
        case crypt(setting: String, ofSHA256: Bool)
        case argon2(Argon2)
        case pbkdf2(PBKDF2)
        case scrypt(Scrypt)
        /// Firebase's: scrypt by parameters of the project, then AES.
        case firebase(salt: [UInt8], hash: [UInt8])
    }

    package struct Argon2: Sendable, Equatable {
        package enum Variant: String, Sendable {
            case i = "argon2i"
            case id = "argon2id"
        }
        package let variant: Variant
        /// 16 or 19.
        package let version: UInt32
        package let kibibytes: UInt32
        package let passes: UInt32
        package let lanes: UInt32
        package let salt: [UInt8]
        package let key: [UInt8]
    }

    package struct PBKDF2: Sendable, Equatable {
        package enum Digest: String, CaseIterable, Sendable {
            case sha1
            case sha256
            case sha512

            /// As Keycloak, passlib and Kratos call it.
            fileprivate init?(named name: Substring) {
                switch name {
                case "pbkdf2": self = .sha1
                case "pbkdf2-sha256": self = .sha256
                case "pbkdf2-sha512": self = .sha512
                default: return nil
                }
            }

            var byteCount: Int {
                switch self {
                case .sha1: 20
                case .sha256: 32
                case .sha512: 64
                }
            }
        }
        package let digest: Digest
        package let iterations: UInt32
        package let salt: [UInt8]
        package let key: [UInt8]
    }

    package struct Scrypt: Sendable, Equatable {
        package let n: UInt64
        package let r: UInt32
        package let p: UInt32
        package let salt: [UInt8]
        package let key: [UInt8]
    }

    package let kind: Kind
    package let scheme: Scheme
    /// What a check takes, about.
    package let memoryBytes: Int

    /// The longest text that is read.
    package static let maximumBytes = 1_024

    private init(_ kind: Kind, _ scheme: Scheme, memoryBytes: Int = 0) {
        self.kind = kind
        self.scheme = scheme
        self.memoryBytes = memoryBytes
    }

    /// `nil` for what is no form of ours, malformed, or costs more than the caps allow.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        let read: ForeignPasswordHash? =
            switch Self.kind(of: text) {
            case .bcrypt: Self.bcrypt(text)
            case .yescrypt: Self.yescrypt(text)
            case .argon2: Self.argon2(text.hasPrefix("argon2$") ? text.dropFirst("argon2".count) : text[...], .argon2)
            case .pbkdf2: text.hasPrefix("$") ? Self.modularPBKDF2(text) : Self.djangoPBKDF2(text)
            case .scrypt:
                ["$", "scrypt$ln="].contains(where: text.hasPrefix) ? Self.phcScrypt(text) : Self.djangoScrypt(text)
            case .betterAuth: Self.betterAuth(text)
            case .firebase: Self.firebase(text)
            case .keycloak: Self.keycloak(text)
            case .encrypted, .unknown: nil
            }
        guard let read else { return nil }
        self = read
    }

    /// Whether it can be checked where these kinds can. Keycloak's may be an Argon2.
    package func isCheckable(by kinds: Set<Kind>) -> Bool {
        guard kinds.contains(kind) else { return false }
        if case .argon2 = scheme { return kinds.contains(.argon2) }
        return true
    }

    /// The kind that a text begins like.
    package static func kind(of text: String) -> Kind {
        switch text {
        case _ where ["$2a$", "$2b$", "$2y$", "bcrypt_sha256$"].contains(where: text.hasPrefix): .bcrypt
        case _ where text.hasPrefix("$y$"): .yescrypt
        case _ where ["$argon2", "argon2$"].contains(where: text.hasPrefix): .argon2
        case _ where ["pbkdf2_", "$pbkdf2$", "$pbkdf2-"].contains(where: text.hasPrefix): .pbkdf2
        case _ where ["scrypt$", "$scrypt$"].contains(where: text.hasPrefix): .scrypt
        case _ where text.hasPrefix("firebase$"): .firebase
        case _ where text.hasPrefix("keycloak$"): .keycloak
        case _ where text.hasPrefix("{"): .encrypted
        case _ where text.utf8.count == 161 && text.utf8.dropFirst(32).first == UInt8(ascii: ":"): .betterAuth
        default: .unknown
        }
    }

    // MARK: crypt(3)

    /// `$2b$10$` and 53 characters.
    private static func bcrypt(_ text: String) -> ForeignPasswordHash? {
        let isOfDigest = text.hasPrefix("bcrypt_sha256$")
        let setting = isOfDigest ? String(text.dropFirst("bcrypt_sha256$".count)) : text
        let bytes = Array(setting.utf8)
        guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(where: setting.hasPrefix), bytes[6] == dollar,
            bytes[4].isASCIIDigit, bytes[5].isASCIIDigit, bytes[7...].allSatisfy(isCryptDigit),
            (4...15).contains(Int(bytes[4] - 48) * 10 + Int(bytes[5] - 48))
        else { return nil }
        return ForeignPasswordHash(.bcrypt, .crypt(setting: setting, ofSHA256: isOfDigest))
    }

    /// `$y$j9T$salt$hash`: the flavour, log2 N and r, then whatever is not the default; of such there is none here.
    private static func yescrypt(_ text: String) -> ForeignPasswordHash? {
        let fields = text.utf8.split(separator: dollar, omittingEmptySubsequences: false)
        guard fields.count == 5, text.utf8.count < 384, fields[2].first == UInt8(ascii: "j"), fields[3].count <= 86,
            fields[4].count == 43, fields[2...].allSatisfy({ $0.allSatisfy(isCryptDigit) })
        else { return nil }
        var digits = Array(fields[2].dropFirst())[...]
        guard let exponent = yescryptNumber(&digits), let r = yescryptNumber(&digits), digits.isEmpty, exponent <= 20,
            r <= 4_096
        else { return nil }
        let memory = 128 * Int(r) << Int(exponent)
        guard memory <= 64 << 20 else { return nil }
        return ForeignPasswordHash(.yescrypt, .crypt(setting: text, ofSHA256: false), memoryBytes: memory)
    }

    /// yescrypt's variable-length number of at least 1 (`decode64_uint32`).
    private static func yescryptNumber(_ digits: inout ArraySlice<UInt8>) -> UInt32? {
        guard let first = digits.popFirst() else { return nil }
        let value = cryptValue(first)
        var (start, end, bits, count): (UInt32, UInt32, UInt32, Int) = (0, 47, 0, 0)
        var number: UInt32 = 1
        while value > end {
            number += (end + 1 - start) << bits
            start = end + 1
            end = start + (62 - end) / 2
            count += 1
            bits += 6
            guard bits <= 18 else { return nil }
        }
        number += (value - start) << bits
        for _ in 0..<count {
            guard let next = digits.popFirst() else { return nil }
            bits -= 6
            number += cryptValue(next) << bits
        }
        return number
    }

    private static func cryptValue(_ byte: UInt8) -> UInt32 {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "/"): UInt32(byte) - 46
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) - 48 + 2
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte) - 65 + 12
        default: UInt32(byte) - 97 + 38
        }
    }

    private static func isCryptDigit(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "/")
    }

    // MARK: Argon2

    /// `$argon2id$v=19$m=65536,t=2,p=1$salt$key` (the PHC form); without a version it is 16.
    private static func argon2(_ text: Substring, _ kind: Kind) -> ForeignPasswordHash? {
        var fields = text.split(separator: "$", omittingEmptySubsequences: false)[...]
        guard fields.popFirst()?.isEmpty == true,
            let variant = fields.popFirst().flatMap({ Argon2.Variant(rawValue: String($0)) })
        else { return nil }
        var version: UInt32 = 16
        if fields.first?.hasPrefix("v=") == true {
            guard let given = fields.popFirst().flatMap({ number($0.dropFirst(2)) }), given == 16 || given == 19 else {
                return nil
            }
            version = given
        }
        guard fields.count == 3, let costs = fields.popFirst()?.split(separator: ",", omittingEmptySubsequences: false),
            costs.count == 3, costs[0].hasPrefix("m="), costs[1].hasPrefix("t="), costs[2].hasPrefix("p="),
            let memory = number(costs[0].dropFirst(2)), let passes = number(costs[1].dropFirst(2)),
            let lanes = number(costs[2].dropFirst(2)),
            let salt = fields.popFirst().flatMap(base64), let key = fields.popFirst().flatMap(base64)
        else { return nil }
        guard (1...16).contains(lanes), (1...10).contains(passes), memory >= 8 * lanes, memory <= 256 << 10,
            (8...64).contains(salt.count), (12...128).contains(key.count)
        else { return nil }
        let parameters = Argon2(
            variant: variant, version: version, kibibytes: memory, passes: passes, lanes: lanes, salt: salt, key: key)
        return ForeignPasswordHash(kind, .argon2(parameters), memoryBytes: Int(memory) << 10)
    }

    // MARK: Django, better-auth

    /// `pbkdf2_sha256$iterations$salt$key`; the salt is its text.
    private static func djangoPBKDF2(_ text: String) -> ForeignPasswordHash? {
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 4, fields[0] != "pbkdf2_sha512",
            let digest = PBKDF2.Digest(rawValue: String(fields[0].dropFirst("pbkdf2_".count)))
        else { return nil }
        return pbkdf2(digest, fields[1], salt: Array(fields[2].utf8), key: base64(fields[3]), .pbkdf2)
    }

    /// `$pbkdf2-sha256$29000$salt$key` (passlib), `$pbkdf2-sha256$i=29000,l=32$salt$key` (Kratos); the salt in base64.
    private static func modularPBKDF2(_ text: String) -> ForeignPasswordHash? {
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 5, let digest = PBKDF2.Digest(named: fields[1]), let key = base64(fields[4]) else {
            return nil
        }
        var iterations = fields[2]
        if iterations.hasPrefix("i=") {
            let costs = iterations.split(separator: ",", omittingEmptySubsequences: false)
            guard costs.count == 2, costs[1] == "l=\(key.count)" else { return nil }
            iterations = costs[0].dropFirst(2)
        }
        return pbkdf2(digest, iterations, salt: base64(fields[3]), key: key, .pbkdf2)
    }

    private static func pbkdf2(
        _ digest: PBKDF2.Digest, _ iterations: Substring, salt: [UInt8]?, key: [UInt8]?, _ kind: Kind
    ) -> ForeignPasswordHash? {
        guard let iterations = number(iterations), let salt, let key, (1...128).contains(salt.count),
            (16...128).contains(key.count)
        else { return nil }
        // Each block of the key takes them all (RFC 8018 §5.2).
        let blocks = (key.count + digest.byteCount - 1) / digest.byteCount
        guard iterations > 0, Int(iterations) * blocks <= 10_000_000 else { return nil }
        return ForeignPasswordHash(kind, .pbkdf2(PBKDF2(digest: digest, iterations: iterations, salt: salt, key: key)))
    }

    /// `scrypt$N$salt$r$p$key`; the salt is its text.
    private static func djangoScrypt(_ text: String) -> ForeignPasswordHash? {
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 6, let n = number(fields[1]), let r = number(fields[3]), let p = number(fields[4]),
            let key = base64(fields[5])
        else { return nil }
        return scrypt(n: UInt64(n), r: r, p: p, salt: Array(fields[2].utf8), key: key, .scrypt)
    }

    /// `$scrypt$ln=17,r=8,p=1$salt$key` (the PHC form, in which ours are too), with its first `$` or without.
    private static func phcScrypt(_ text: String) -> ForeignPasswordHash? {
        let fields = text.dropFirst(text.hasPrefix("$") ? 1 : 0).split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 4 else { return nil }
        let costs = fields[1].split(separator: ",", omittingEmptySubsequences: false)
        // Kratos writes N itself as `ln`.
        guard costs.count == 3, costs[0].hasPrefix("ln="), costs[1].hasPrefix("r="), costs[2].hasPrefix("p="),
            let exponent = number(costs[0].dropFirst(3)), (1...17).contains(exponent),
            let r = number(costs[1].dropFirst(2)), let p = number(costs[2].dropFirst(2)),
            let salt = base64(fields[2]), let key = base64(fields[3])
        else { return nil }
        return scrypt(n: 1 << UInt64(exponent), r: r, p: p, salt: salt, key: key, .scrypt)
    }

    /// `salt:key` in hexadecimal; the salt is its text, and the password was hashed in its normal form NFKC.
    private static func betterAuth(_ text: String) -> ForeignPasswordHash? {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count == 2, Hexadecimal.decode(fields[0]) != nil, let key = Hexadecimal.decode(fields[1]) else {
            return nil
        }
        return scrypt(n: 16_384, r: 16, p: 1, salt: Array(fields[0].utf8), key: key, .betterAuth)
    }

    private static func scrypt(
        n: UInt64, r: UInt32, p: UInt32, salt: [UInt8], key: [UInt8], _ kind: Kind
    ) -> ForeignPasswordHash? {
        // RFC 7914 §6: N is less than 2^(128·r/8).
        guard (2...(1 << 17)).contains(n), n.nonzeroBitCount == 1, (1...16).contains(r), (1...10).contains(p),
            n.trailingZeroBitCount < 16 * Int(r), (1...128).contains(salt.count), (16...128).contains(key.count)
        else { return nil }
        return ForeignPasswordHash(
            kind, .scrypt(Scrypt(n: n, r: r, p: p, salt: salt, key: key)),
            memoryBytes: 128 * Int(r) * (Int(n) + Int(p) + 2))
    }

    // MARK: Firebase, Keycloak: forms of ours

    package static func firebase(salt: String, hash: String) -> String { "firebase$\(salt)$\(hash)" }

    private static func firebase(_ text: String) -> ForeignPasswordHash? {
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 3, let salt = base64(fields[1]), let hash = base64(fields[2]),
            (1...64).contains(salt.count), (16...128).contains(hash.count)
        else { return nil }
        // As much as the project's parameters may take.
        return ForeignPasswordHash(.firebase, .firebase(salt: salt, hash: hash), memoryBytes: 128 * 8 << 14)
    }

    private static func keycloak(_ text: String) -> ForeignPasswordHash? {
        if text.hasPrefix("keycloak$argon2") { return argon2(text.dropFirst("keycloak".count), .keycloak) }
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 5, let digest = PBKDF2.Digest(named: fields[1]) else { return nil }
        return pbkdf2(digest, fields[2], salt: base64(fields[3]), key: base64(fields[4]), .keycloak)
    }

    // MARK: Parts

    private static let dollar = UInt8(ascii: "$")

    /// Digits and nothing else.
    private static func number(_ text: Substring) -> UInt32? {
        text.utf8.allSatisfy(\.isASCIIDigit) ? UInt32(text) : nil
    }

    /// Either alphabet, or passlib's, with its padding or without: exporters differ.
    private static func base64(_ text: Substring) -> [UInt8]? {
        var unpadded = text.utf8[...]
        while unpadded.last == UInt8(ascii: "=") { unpadded.removeLast() }
        let translated = unpadded.map { byte in
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "."): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return Base64URL.decode(String(decoding: translated, as: UTF8.self))
    }
}
