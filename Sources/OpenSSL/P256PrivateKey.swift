import COpenSSL

/// A P-256 key pair that signs ES256.
package final class P256PrivateKey: Sendable {
    /// The coordinates of the public point, 32 octets each, as a JWK writes them.
    package let x: [UInt8]
    package let y: [UInt8]
    /// The public half alone.
    package let publicKey: PublicKey

    private let key: AsymmetricKey
    private let contexts = SignatureContextPool()

    /// Generates a pair.
    package convenience init() throws(OpenSSLError) {
        try unsafe self.init(AsymmetricKey(generating: "EC") { unsafe EVP_PKEY_CTX_set_group_name($0, "prime256v1") })
    }

    /// From one unencrypted PKCS#8 block, which is what Apple's `.p8` files hold.
    package convenience init(pem: [UInt8]) throws(OpenSSLError) {
        var der = try PEM.decode(pem, label: PEM.privateKey)
        defer { cleanse(&der) }
        try self.init(AsymmetricKey(privateDER: der))
    }

    /// From an unencrypted PKCS#8 PrivateKeyInfo.
    package convenience init(der: [UInt8]) throws(OpenSSLError) { try self.init(AsymmetricKey(privateDER: der)) }

    private init(_ key: consuming AsymmetricKey) throws(OpenSSLError) {
        defer { ERR_clear_error() }
        try key.requireP256()
        try key.requirePair()
        x = try key.number("qx", count: 32)
        y = try key.number("qy", count: 32)
        publicKey = try PublicKey(p256X: x, y: y)
        self.key = key
    }

    /// The PKCS#8 PrivateKeyInfo. A secret: the caller wipes it.
    package var der: [UInt8] {
        get throws(OpenSSLError) { try key.privateDER }
    }

    /// The same as a PEM block.
    package func pem() throws(OpenSSLError) -> [UInt8] {
        var der = try der
        defer { cleanse(&der) }
        return try PEM.encode(der, label: PEM.privateKey)
    }

    /// An ES256 signature: 64 octets, `r ‖ s` (RFC 7518 §3.4).
    package func sign(_ message: RawSpan) throws(OpenSSLError) -> [UInt8] {
        let context = try contexts.take { () throws(OpenSSLError) in
            try unsafe SignatureContext(key, .es256) { unsafe EVP_PKEY_sign_init($0) }
        }
        let signature = unsafe message.withUnsafeBytes { message in
            unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ECDSASignature.maximumDERByteCount) {
                der -> [UInt8]? in
                guard let count = unsafe context.sign(message, into: UnsafeMutableRawBufferPointer(der)) else {
                    return nil
                }
                return unsafe ECDSASignature.decode(der.span.extracting(first: count))
            }
        }
        // A context that failed is not used again.
        guard let signature else { throw OpenSSLError("EVP_PKEY_sign") }
        contexts.put(back: context)
        return signature
    }
}
