import COpenSSL

/// AES with a 256-bit key in counter mode (NIST SP 800-38A), without authentication: the last step of Firebase's hashes.
package enum AES256CTR {
    package static let keyByteCount = 32

    /// - Parameter iv: the first counter block, 16 octets.
    package static func encrypt(_ plaintext: [UInt8], key: [UInt8], iv: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        guard key.count == keyByteCount, iv.count == 16, let count = Int32(exactly: plaintext.count), count > 0 else {
            throw OpenSSLError("AES-256-CTR", refused: "wrong length")
        }
        ERR_clear_error()
        defer { ERR_clear_error() }
        let context = try unsafe Handle(EVP_CIPHER_CTX_new(), freedBy: EVP_CIPHER_CTX_free, "EVP_CIPHER_CTX_new")
        try require(
            unsafe EVP_EncryptInit_ex2(context.pointer, Algorithm.aes256CTR.fetched, key, iv, nil),
            "EVP_EncryptInit_ex2")
        var output = [UInt8](repeating: 0, count: plaintext.count)
        var written: Int32 = 0
        try require(unsafe EVP_EncryptUpdate(context.pointer, &output, &written, plaintext, count), "EVP_EncryptUpdate")
        return output
    }
}
