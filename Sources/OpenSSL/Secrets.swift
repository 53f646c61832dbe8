import COpenSSL

/// Unpredictable bytes from OpenSSL's generator.
package enum SecureRandom {
    package static func bytes(_ count: Int) throws(OpenSSLError) -> [UInt8] {
        guard count >= 0, let length = Int32(exactly: count) else {
            throw OpenSSLError("RAND_bytes", refused: "count out of range")
        }
        var bytes = [UInt8](repeating: 0, count: count)
        let result = unsafe bytes.withUnsafeMutableBufferPointer { unsafe RAND_bytes($0.baseAddress, length) }
        guard count == 0 || result == 1 else { throw OpenSSLError("RAND_bytes") }
        return bytes
    }
}

/// Compares in a time that depends on the lengths alone, which are no secret here.
package func constantTimeEquals(_ a: RawSpan, _ b: RawSpan) -> Bool {
    guard a.byteCount == b.byteCount else { return false }
    return unsafe a.withUnsafeBytes { a in
        unsafe b.withUnsafeBytes { b in unsafe CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0 }
    }
}

package func constantTimeEquals(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    unsafe constantTimeEquals(a.span.bytes, b.span.bytes)
}

package func constantTimeEquals(_ a: String, _ b: String) -> Bool { constantTimeEquals(Array(a.utf8), Array(b.utf8)) }

/// Octets that prove who presents them, such as an authentication code or a password's hash.
///
/// Not `Equatable`: `==` ends at the first octet that differs, and its time shows how many were right. `Scripts/check-layers`
/// refuses `==` between what is named as a secret and has another type.
package struct SecretBytes: Sendable {
    /// For what stores or derives; compare with `matches`.
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package func matches(_ presented: [UInt8]) -> Bool { constantTimeEquals(bytes, presented) }

    package func matches(_ other: SecretBytes) -> Bool { matches(other.bytes) }
}

/// Overwrites a secret so that the compiler cannot drop the write. Only the storage that `bytes` alone holds is
/// reached: an array that shares its storage with a copy gets storage of its own, and the copy keeps the secret.
package func cleanse(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBufferPointer { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
}
