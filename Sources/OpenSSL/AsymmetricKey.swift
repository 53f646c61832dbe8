import COpenSSL

/// One EVP_PKEY with its owner: made once, checked, then only read.
///
/// Sendable because OpenSSL lets threads share a key that is loaded and never modified again, and nothing here modifies
/// one after its initialiser.
@safe
struct AsymmetricKey: ~Copyable, @unchecked Sendable {
    private let handle: Handle
    var pointer: OpaquePointer { unsafe handle.pointer }

    init(_ handle: consuming Handle) { self.handle = handle }

    init(publicKeyOf type: StaticString, _ parameters: borrowing Parameters) throws(OpenSSLError) {
        ERR_clear_error()
        let context = try Self.context(type)
        try require(unsafe EVP_PKEY_fromdata_init(context.pointer), "EVP_PKEY_fromdata_init")
        var key: OpaquePointer?
        let result = unsafe parameters.withPointer {
            unsafe EVP_PKEY_fromdata(context.pointer, &key, countersign_EVP_PKEY_PUBLIC_KEY(), $0)
        }
        let handle = try unsafe Handle(key, freedBy: EVP_PKEY_free, "EVP_PKEY_fromdata")
        try require(result, "EVP_PKEY_fromdata")
        self.init(handle)
    }

    /// Generates a pair.
    init(generating type: StaticString, _ configure: (OpaquePointer) -> Int32) throws(OpenSSLError) {
        ERR_clear_error()
        let context = try Self.context(type)
        try require(unsafe EVP_PKEY_keygen_init(context.pointer), "EVP_PKEY_keygen_init")
        try require(unsafe configure(context.pointer), "EVP_PKEY_CTX_set")
        var key: OpaquePointer?
        let result = unsafe EVP_PKEY_generate(context.pointer, &key)
        let handle = try unsafe Handle(key, freedBy: EVP_PKEY_free, "EVP_PKEY_generate")
        try require(result, "EVP_PKEY_generate")
        self.init(handle)
    }

    private static func context(_ type: StaticString) throws(OpenSSLError) -> Handle {
        try unsafe Handle(
            EVP_PKEY_CTX_new_from_name(nil, type.description, nil), freedBy: EVP_PKEY_CTX_free,
            "EVP_PKEY_CTX_new_from_name")
    }
}

extension AsymmetricKey {
    /// `"RSA"` or `"EC"`.
    func isA(_ type: StaticString) -> Bool { unsafe EVP_PKEY_is_a(pointer, type.description) == 1 }

    /// RFC 7518 §3.3 asks for 2048 bits. The upper bound is ours: the cost of one verification grows with the square of
    /// the size. OpenSSL accepts 1024 bits, an even modulus and an exponent of 1 without an error, so these checks are
    /// repeated nowhere below.
    func requireRSA() throws(OpenSSLError) {
        guard isA("RSA") else { throw OpenSSLError("RSA key", refused: "not an RSA key") }
        guard (2048...8192).contains(unsafe EVP_PKEY_get_bits(pointer)) else {
            throw OpenSSLError("RSA key", refused: "modulus outside 2048 ... 8192 bits")
        }
        let modulus = try number("n")
        let exponent = try number("e")
        guard modulus.last.map({ $0 & 1 == 1 }) == true else {
            throw OpenSSLError("RSA key", refused: "even modulus")
        }
        guard exponent.count <= 4, exponent.last.map({ $0 & 1 == 1 }) == true, exponent != [1] else {
            throw OpenSSLError("RSA key", refused: "exponent not odd in 3 ... 2^32")
        }
        try requirePublicCheck()
    }

    /// Requires the curve by its name, not by explicit parameters, which could name another generator; and a point on
    /// it that is not at infinity.
    func requireP256() throws(OpenSSLError) {
        guard isA("EC") else { throw OpenSSLError("P-256 key", refused: "not an EC key") }
        var name = [CChar](repeating: 0, count: 32)
        var count = 0
        var explicit: Int32 = 1
        guard
            unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1,
            name.prefix(count).map(UInt8.init(bitPattern:)) == Array("prime256v1".utf8),
            unsafe EVP_PKEY_get_int_param(pointer, "decoded-from-explicit", &explicit) == 1, explicit == 0
        else { throw OpenSSLError("P-256 key", refused: "not on the named curve P-256") }
        try requirePublicCheck()
    }

    private func requirePublicCheck() throws(OpenSSLError) {
        let context = try newContext()
        try require(unsafe EVP_PKEY_public_check(context.pointer), "EVP_PKEY_public_check")
    }

    /// Checks a private key that came from outside: the private half must be in range and belong to the public one.
    func requirePair() throws(OpenSSLError) {
        let context = try newContext()
        try require(unsafe EVP_PKEY_check(context.pointer), "EVP_PKEY_check")
    }

    func newContext() throws(OpenSSLError) -> Handle {
        try unsafe Handle(
            EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil), freedBy: EVP_PKEY_CTX_free, "EVP_PKEY_CTX_new_from_pkey")
    }

    /// A number of the public half, big-endian, as short as it can be or padded in front to `count` octets.
    func number(_ name: StaticString, count: Int? = nil) throws(OpenSSLError) -> [UInt8] {
        var found: OpaquePointer?
        try require(unsafe EVP_PKEY_get_bn_param(pointer, name.description, &found), "EVP_PKEY_get_bn_param")
        let number = try unsafe Handle(found, freedBy: BN_free, "EVP_PKEY_get_bn_param")
        let count = unsafe count ?? (Int(BN_num_bits(number.pointer)) + 7) / 8
        var octets = [UInt8](repeating: 0, count: count)
        guard unsafe BN_bn2binpad(number.pointer, &octets, Int32(clamping: count)) == count else {
            throw OpenSSLError("BN_bn2binpad")
        }
        return octets
    }
}
