import COpenSSL

/// HMAC with SHA-256 (RFC 2104).
package enum HMACSHA256 {
    package static let byteCount = 32

    package static func authenticationCode(for message: [UInt8], key: [UInt8]) throws(OpenSSLError) -> SecretBytes {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let context = try unsafe Handle(
            EVP_MAC_CTX_new(Algorithm.hmac.fetched), freedBy: EVP_MAC_CTX_free, "EVP_MAC_CTX_new")
        var parameters = Parameters()
        parameters.add("digest", text: "SHA256")
        // As a parameter, and not as the argument, where an empty key's NULL would mean "no key yet".
        parameters.add("key", octets: key)
        try require(unsafe parameters.withPointer { unsafe EVP_MAC_init(context.pointer, nil, 0, $0) }, "EVP_MAC_init")
        try unsafe require(
            message.withUnsafeBufferPointer {
                unsafe EVP_MAC_update(context.pointer, $0.baseAddress, $0.count)
            }, "EVP_MAC_update")
        var code = [UInt8](repeating: 0, count: byteCount)
        var count = 0
        try unsafe require(
            code.withUnsafeMutableBufferPointer {
                unsafe EVP_MAC_final(context.pointer, $0.baseAddress, &count, $0.count)
            }, "EVP_MAC_final")
        guard count == byteCount else { throw OpenSSLError("EVP_MAC_final", refused: "short code") }
        return SecretBytes(code)
    }
}
