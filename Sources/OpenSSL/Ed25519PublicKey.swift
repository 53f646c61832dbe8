import COpenSSL

/// The public half of an Ed25519 key pair (RFC 8032).
package final class Ed25519PublicKey: Sendable {
    private let key: AsymmetricKey

    /// - Parameter octets: 32.
    package init(_ octets: [UInt8]) throws(OpenSSLError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard octets.count == 32 else { throw OpenSSLError("Ed25519 key", refused: "not 32 octets") }
        let made = unsafe octets.withUnsafeBufferPointer {
            unsafe EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, $0.baseAddress, $0.count)
        }
        key = AsymmetricKey(try unsafe Handle(made, freedBy: EVP_PKEY_free, "EVP_PKEY_new_raw_public_key_ex"))
    }

    /// - Throws: when OpenSSL can't check at all; a signature that is not the key's is `false`.
    package func isValid(_ signature: [UInt8], for message: [UInt8]) throws(OpenSSLError) -> Bool {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard signature.count == Ed25519PrivateKey.signatureBytes else { return false }
        let context = try unsafe Handle(EVP_MD_CTX_new(), freedBy: EVP_MD_CTX_free, "EVP_MD_CTX_new")
        try require(
            unsafe EVP_DigestVerifyInit_ex(context.pointer, nil, nil, nil, nil, key.pointer, nil),
            "EVP_DigestVerifyInit_ex")
        let result = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe message.withUnsafeBufferPointer {
                unsafe EVP_DigestVerify(
                    context.pointer, signature.baseAddress, signature.count, $0.baseAddress, $0.count)
            }
        }
        return result == 1
    }
}
