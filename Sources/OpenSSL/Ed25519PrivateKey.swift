import COpenSSL

/// An Ed25519 key pair (RFC 8032).
package final class Ed25519PrivateKey: Sendable {
    package static let seedBytes = 32
    package static let signatureBytes = 64

    /// 32 octets.
    package let publicKey: [UInt8]
    private let key: AsymmetricKey

    /// - Parameter seed: 32 octets.
    package init(seed: [UInt8]) throws(OpenSSLError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard seed.count == Self.seedBytes else { throw OpenSSLError("Ed25519 key", refused: "not 32 octets") }
        let made = unsafe seed.withUnsafeBufferPointer {
            unsafe EVP_PKEY_new_raw_private_key_ex(nil, "ED25519", nil, $0.baseAddress, $0.count)
        }
        key = AsymmetricKey(try unsafe Handle(made, freedBy: EVP_PKEY_free, "EVP_PKEY_new_raw_private_key_ex"))
        var octets = [UInt8](repeating: 0, count: 32)
        var count = octets.count
        try require(unsafe EVP_PKEY_get_raw_public_key(key.pointer, &octets, &count), "EVP_PKEY_get_raw_public_key")
        guard count == 32 else { throw OpenSSLError("Ed25519 key", refused: "no public half") }
        publicKey = octets
    }

    package func sign(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let context = try unsafe Handle(EVP_MD_CTX_new(), freedBy: EVP_MD_CTX_free, "EVP_MD_CTX_new")
        try require(
            unsafe EVP_DigestSignInit_ex(context.pointer, nil, nil, nil, nil, key.pointer, nil),
            "EVP_DigestSignInit_ex")
        var signature = [UInt8](repeating: 0, count: Self.signatureBytes)
        var count = signature.count
        let result = unsafe message.withUnsafeBufferPointer {
            unsafe EVP_DigestSign(context.pointer, &signature, &count, $0.baseAddress, $0.count)
        }
        try require(result, "EVP_DigestSign")
        guard count == Self.signatureBytes else { throw OpenSSLError("EVP_DigestSign", refused: "short signature") }
        return signature
    }
}
