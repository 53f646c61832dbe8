import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    package static let byteCount = 32

    package static func hash(_ bytes: RawSpan) -> [UInt8] { digest(.sha256, of: bytes, count: byteCount) }
    package static func hash(_ bytes: [UInt8]) -> [UInt8] { unsafe hash(bytes.span.bytes) }
}

/// SHA-512 (FIPS 180-4).
package enum SHA512 {
    package static let byteCount = 64

    package static func hash(_ bytes: RawSpan) -> [UInt8] { digest(.sha512, of: bytes, count: byteCount) }
    package static func hash(_ bytes: [UInt8]) -> [UInt8] { unsafe hash(bytes.span.bytes) }
}

/// Hashing takes no key and cannot refuse an input: it fails only where libcrypto lacks SHA-2 or memory is exhausted.
/// Nothing may be looked up or compared by a digest that was not computed, so the process stops there.
private func digest(_ algorithm: Algorithm, of bytes: RawSpan, count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { digest, written in
        let result = unsafe bytes.withUnsafeBytes { bytes in
            unsafe EVP_Digest(bytes.baseAddress, bytes.count, digest.baseAddress, nil, try? algorithm.fetched, nil)
        }
        guard result == 1 else { fatalError("OpenSSL cannot compute SHA-2") }
        written = count
    }
}
