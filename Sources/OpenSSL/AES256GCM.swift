import COpenSSL

/// Authenticated encryption: AES with a 256-bit key in Galois/Counter Mode (NIST SP 800-38D).
///
/// A box is `iv(12) ‖ ciphertext ‖ tag(16)`. The IV is random, which limits one key to 2³² boxes. `aad` is
/// authenticated but not stored: a box opens only with the `aad` that it was sealed with.
package enum AES256GCM {
    package static let keyByteCount = 32
    private static let ivByteCount = 12
    /// OpenSSL takes the length of a tag as it is given, down to one octet; only whole tags are made and accepted here.
    private static let tagByteCount = 16

    package static func seal(_ plaintext: [UInt8], key: [UInt8], aad: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        try seal(plaintext, key: key, aad: aad, iv: SecureRandom.bytes(ivByteCount))
    }

    /// With the caller's IV, for published vectors: one IV never serves two messages under one key.
    static func seal(_ plaintext: [UInt8], key: [UInt8], aad: [UInt8], iv: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        guard key.count == keyByteCount, iv.count == ivByteCount else {
            throw OpenSSLError("AES-256-GCM seal", refused: "wrong key or IV length")
        }
        ERR_clear_error()
        defer { ERR_clear_error() }
        let context = try newContext()
        try require(
            unsafe EVP_EncryptInit_ex2(context.pointer, Algorithm.aes256GCM.fetched, key, iv, nil),
            "EVP_EncryptInit_ex2")
        try unsafe update(context, EVP_EncryptUpdate, aad: aad, "EVP_EncryptUpdate")
        var box = iv
        box.reserveCapacity(ivByteCount + plaintext.count + tagByteCount)
        unsafe box += try update(context, EVP_EncryptUpdate, plaintext[...], "EVP_EncryptUpdate")
        var tag = [UInt8](repeating: 0, count: tagByteCount)
        var rest: Int32 = 0
        // GCM keeps nothing back: Final writes no octets, it only finishes the tag.
        try require(unsafe EVP_EncryptFinal_ex(context.pointer, &tag, &rest), "EVP_EncryptFinal_ex")
        try require(
            unsafe EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tagByteCount), &tag),
            "EVP_CTRL_AEAD_GET_TAG")
        return box + tag
    }

    /// Opens a box, or throws without having released an octet of it: GCM decrypts before it can check the tag, so what
    /// fails the check is wiped.
    package static func open(_ box: [UInt8], key: [UInt8], aad: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        guard key.count == keyByteCount, box.count >= ivByteCount + tagByteCount else {
            throw OpenSSLError("AES-256-GCM open", refused: "wrong key length or short box")
        }
        ERR_clear_error()
        defer { ERR_clear_error() }
        let context = try newContext()
        let iv = Array(box.prefix(ivByteCount))
        var tag = Array(box.suffix(tagByteCount))
        try require(
            unsafe EVP_DecryptInit_ex2(context.pointer, Algorithm.aes256GCM.fetched, key, iv, nil),
            "EVP_DecryptInit_ex2")
        try unsafe update(context, EVP_DecryptUpdate, aad: aad, "EVP_DecryptUpdate")
        var plaintext = try unsafe update(
            context, EVP_DecryptUpdate, box.dropFirst(ivByteCount).dropLast(tagByteCount), "EVP_DecryptUpdate")
        var rest: Int32 = 0
        guard
            unsafe EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tagByteCount), &tag) == 1,
            unsafe EVP_DecryptFinal_ex(context.pointer, &tag, &rest) == 1
        else {
            cleanse(&plaintext)
            throw OpenSSLError("AES-256-GCM open", refused: "not sealed with this key for this place")
        }
        return plaintext
    }

    private typealias Update = (
        OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int32>?, UnsafePointer<UInt8>?, Int32
    ) -> Int32

    private static func newContext() throws(OpenSSLError) -> Handle {
        try unsafe Handle(EVP_CIPHER_CTX_new(), freedBy: EVP_CIPHER_CTX_free, "EVP_CIPHER_CTX_new")
    }

    private static func update(
        _ context: borrowing Handle, _ update: Update, aad: [UInt8], _ operation: StaticString
    ) throws(OpenSSLError) {
        guard !aad.isEmpty else { return }
        guard let count = Int32(exactly: aad.count) else { throw OpenSSLError(operation, refused: "too long") }
        var written: Int32 = 0
        try require(unsafe update(context.pointer, nil, &written, aad, count), operation)
    }

    private static func update(
        _ context: borrowing Handle, _ update: Update, _ input: ArraySlice<UInt8>, _ operation: StaticString
    ) throws(OpenSSLError) -> [UInt8] {
        guard !input.isEmpty else { return [] }
        guard let count = Int32(exactly: input.count) else { throw OpenSSLError(operation, refused: "too long") }
        var output = [UInt8](repeating: 0, count: input.count)
        var written: Int32 = 0
        let result = unsafe input.withUnsafeBufferPointer {
            unsafe update(context.pointer, &output, &written, $0.baseAddress, count)
        }
        guard result == 1, written == count else {
            cleanse(&output)
            throw OpenSSLError(operation)
        }
        return output
    }
}
