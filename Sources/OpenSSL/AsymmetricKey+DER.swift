import COpenSSL

extension AsymmetricKey {
    /// A SubjectPublicKeyInfo (RFC 5280 §4.1), with nothing after it.
    init(publicDER der: [UInt8]) throws(OpenSSLError) {
        ERR_clear_error()
        var rest = 0
        let key = unsafe der.withUnsafeBufferPointer { der in
            var next = der.baseAddress
            let key = unsafe d2i_PUBKEY_ex(nil, &next, der.count, nil, nil)
            rest = unsafe Self.remaining(of: der, from: next)
            return unsafe key
        }
        let handle = try unsafe Handle(key, freedBy: EVP_PKEY_free, "d2i_PUBKEY_ex")
        guard rest == 0 else { throw OpenSSLError("d2i_PUBKEY_ex", refused: "trailing data") }
        self.init(handle)
    }

    /// An unencrypted PKCS#8 PrivateKeyInfo (RFC 5208 §5), with nothing after it. Decoding this structure, not "any
    /// private key", is what keeps an encrypted one from asking the terminal for a password.
    init(privateDER der: [UInt8]) throws(OpenSSLError) {
        ERR_clear_error()
        var rest = 0
        let decoded = unsafe der.withUnsafeBufferPointer { der in
            var next = der.baseAddress
            let decoded = unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &next, der.count)
            rest = unsafe Self.remaining(of: der, from: next)
            return unsafe decoded
        }
        let info = try unsafe Handle(decoded, freedBy: PKCS8_PRIV_KEY_INFO_free, "d2i_PKCS8_PRIV_KEY_INFO")
        guard rest == 0 else { throw OpenSSLError("d2i_PKCS8_PRIV_KEY_INFO", refused: "trailing data") }
        self.init(
            try unsafe Handle(EVP_PKCS82PKEY_ex(info.pointer, nil, nil), freedBy: EVP_PKEY_free, "EVP_PKCS82PKEY_ex"))
    }

    var publicDER: [UInt8] {
        get throws(OpenSSLError) {
            ERR_clear_error()
            var octets: UnsafeMutablePointer<UInt8>?
            let count = unsafe i2d_PUBKEY(pointer, &octets)
            return try unsafe Self.adopt(octets, count, "i2d_PUBKEY")
        }
    }

    var privateDER: [UInt8] {
        get throws(OpenSSLError) {
            ERR_clear_error()
            let info = try unsafe Handle(EVP_PKEY2PKCS8(pointer), freedBy: PKCS8_PRIV_KEY_INFO_free, "EVP_PKEY2PKCS8")
            var octets: UnsafeMutablePointer<UInt8>?
            let count = unsafe i2d_PKCS8_PRIV_KEY_INFO(info.pointer, &octets)
            return try unsafe Self.adopt(octets, count, "i2d_PKCS8_PRIV_KEY_INFO")
        }
    }

    private static func remaining(of der: UnsafeBufferPointer<UInt8>, from next: UnsafePointer<UInt8>?) -> Int {
        guard let start = der.baseAddress, let next = unsafe next else { return der.count }
        return unsafe der.count - (next - start)
    }

    /// Copies what OpenSSL allocated, and wipes and frees the original.
    private static func adopt(
        _ octets: UnsafeMutablePointer<UInt8>?, _ count: Int32, _ operation: StaticString
    ) throws(OpenSSLError) -> [UInt8] {
        guard count > 0, let octets = unsafe octets else { throw OpenSSLError(operation) }
        defer { unsafe countersign_OPENSSL_clear_free(octets, Int(count)) }
        return unsafe Array(UnsafeBufferPointer(start: octets, count: Int(count)))
    }
}
