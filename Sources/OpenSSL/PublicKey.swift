import COpenSSL

/// A public key bound to one signature algorithm (RFC 8725 §3.1): checked when made, then shared by all threads.
package final class PublicKey: Sendable {
    package let algorithm: SignatureAlgorithm
    /// The only length a signature can have: that of the modulus, or 64 octets.
    package let signatureLength: Int

    private let key: AsymmetricKey
    private let contexts = SignatureContextPool()

    /// From a JWK's `n` and `e` (RFC 7518 §6.3.1), big-endian.
    ///
    /// JWK wants the fewest octets; one leading zero octet, which some issuers publish, is tolerated.
    package convenience init(rsaModulus modulus: [UInt8], exponent: [UInt8]) throws(OpenSSLError) {
        guard !modulus.starts(with: [0, 0]), !exponent.starts(with: [0, 0]) else {
            throw OpenSSLError("RSA key", refused: "padded with zeros")
        }
        var parameters = Parameters()
        try parameters.add("n", bigEndian: modulus)
        try parameters.add("e", bigEndian: exponent)
        try self.init(AsymmetricKey(publicKeyOf: "RSA", parameters))
    }

    /// From a JWK's `x` and `y` on P-256: exactly 32 octets each (RFC 7518 §6.2.1).
    package convenience init(p256X x: [UInt8], y: [UInt8]) throws(OpenSSLError) {
        guard x.count == 32, y.count == 32 else {
            throw OpenSSLError("P-256 key", refused: "coordinates are not 32 octets each")
        }
        var parameters = Parameters()
        parameters.add("group", text: "prime256v1")
        // The uncompressed point (SEC 1 §2.3.3). OpenSSL ignores "qx" and "qy" here and would make a key without a
        // point; and this prefix cannot spell the point at infinity.
        parameters.add("pub", octets: [0x04] + x + y)
        try self.init(AsymmetricKey(publicKeyOf: "EC", parameters))
    }

    /// From one SubjectPublicKeyInfo block, RSA or P-256.
    package convenience init(pem: [UInt8]) throws(OpenSSLError) {
        try self.init(AsymmetricKey(publicDER: PEM.decode(pem, label: PEM.publicKey)))
    }

    private init(_ key: consuming AsymmetricKey) throws(OpenSSLError) {
        defer { ERR_clear_error() }
        if key.isA("RSA") {
            try key.requireRSA()
            algorithm = .rs256
            signatureLength = unsafe Int(EVP_PKEY_get_size(key.pointer))
        } else {
            try key.requireP256()
            algorithm = .es256
            signatureLength = ECDSASignature.rawByteCount
        }
        self.key = key
        contexts.put(back: try newContext())
    }

    /// The SubjectPublicKeyInfo.
    package var der: [UInt8] {
        get throws(OpenSSLError) { try key.publicDER }
    }

    /// Whether `signature` is this key's over `message`: RS256 as PKCS #1 v1.5 makes it, ES256 as `r ‖ s`.
    ///
    /// Any failure, also to allocate memory, counts as an invalid signature.
    package func verifies(_ signature: RawSpan, of message: RawSpan) -> Bool {
        guard signature.byteCount == signatureLength, let context = try? contexts.take(orMake: newContext) else {
            return false
        }
        defer { contexts.put(back: context) }
        let isValid = unsafe message.withUnsafeBytes { message in
            switch algorithm {
            case .rs256:
                unsafe signature.withUnsafeBytes { unsafe context.verifies($0, of: message) }
            case .es256:
                unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ECDSASignature.maximumDERByteCount) {
                    var der = unsafe $0.mutableSpan
                    let count = ECDSASignature.encode(signature, into: &der)
                    return unsafe context.verifies(
                        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer($0)[..<count]), of: message)
                }
            }
        }
        if !isValid { ERR_clear_error() }
        return isValid
    }

    private func newContext() throws(OpenSSLError) -> SignatureContext {
        try unsafe SignatureContext(key, algorithm) { unsafe EVP_PKEY_verify_init($0) }
    }
}
