import COpenSSL

/// An RSA key pair that signs RS256, as Google's service accounts and the providers' stand-ins do. Our own tokens are
/// ES256: an RSA signature costs an order of magnitude more.
package final class RSAPrivateKey: Sendable {
    /// Big-endian, as short as they can be, as a JWK writes them.
    package let modulus: [UInt8]
    package let exponent: [UInt8]
    /// The public half alone.
    package let publicKey: PublicKey

    private let key: AsymmetricKey
    private let contexts = SignatureContextPool()

    /// Generates a pair with the exponent 65537.
    package convenience init(bits: Int) throws(OpenSSLError) {
        guard (2048...8192).contains(bits) else {
            throw OpenSSLError("RSA key", refused: "modulus outside 2048 ... 8192 bits")
        }
        try unsafe self.init(
            AsymmetricKey(generating: "RSA") { unsafe EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(bits)) })
    }

    /// From one unencrypted PKCS#8 block.
    ///
    /// A signature shows that its halves belong together: it is what the key is for, and takes a millisecond. OpenSSL's own
    /// check also proves that both factors are prime, which takes a hundred.
    package convenience init(pem: [UInt8]) throws(OpenSSLError) {
        var der = try PEM.decode(pem, label: PEM.privateKey)
        defer { cleanse(&der) }
        try self.init(AsymmetricKey(privateDER: der))
        let probe = Array("countersign".utf8)
        let signature = try unsafe sign(probe.span.bytes)
        guard unsafe publicKey.verifies(signature.span.bytes, of: probe.span.bytes) else {
            throw OpenSSLError("RSA key", refused: "private half of another key")
        }
    }

    private init(_ key: consuming AsymmetricKey) throws(OpenSSLError) {
        defer { ERR_clear_error() }
        try key.requireRSA()
        modulus = try key.number("n")
        exponent = try key.number("e")
        publicKey = try PublicKey(rsaModulus: modulus, exponent: exponent)
        self.key = key
    }

    /// The PKCS#8 PEM block. A secret: the caller wipes it.
    package func pem() throws(OpenSSLError) -> [UInt8] {
        var der = try key.privateDER
        defer { cleanse(&der) }
        return try PEM.encode(der, label: PEM.privateKey)
    }

    /// An RS256 signature (RFC 7518 §3.3), as long as the modulus.
    package func sign(_ message: RawSpan) throws(OpenSSLError) -> [UInt8] {
        let context = try contexts.take { () throws(OpenSSLError) in
            try unsafe SignatureContext(key, .rs256) { unsafe EVP_PKEY_sign_init($0) }
        }
        var signature = [UInt8](repeating: 0, count: publicKey.signatureLength)
        let count = unsafe message.withUnsafeBytes { message in
            unsafe signature.withUnsafeMutableBytes { unsafe context.sign(message, into: $0) }
        }
        // A context that failed is not used again.
        guard count == signature.count else { throw OpenSSLError("EVP_PKEY_sign") }
        contexts.put(back: context)
        return signature
    }
}
