import COpenSSL

/// HKDF with SHA-256 (RFC 5869): independent keys from one good key.
package enum HKDFSHA256 {
    /// - Parameters:
    ///   - label: The `info` input, which distinguishes the derived keys.
    ///   - count: 1 ... 8160 octets.
    package static func derive(from key: [UInt8], label: String, count: Int) throws(OpenSSLError) -> [UInt8] {
        try derive(from: key, salt: [], info: Array(label.utf8), count: count)
    }

    static func derive(from key: [UInt8], salt: [UInt8], info: [UInt8], count: Int) throws(OpenSSLError) -> [UInt8] {
        guard !key.isEmpty else { throw OpenSSLError("HKDF", refused: "empty key") }
        ERR_clear_error()
        defer { ERR_clear_error() }
        var parameters = Parameters()
        parameters.add("digest", text: "SHA256")
        parameters.add("key", octets: key)
        parameters.add("salt", octets: salt)
        parameters.add("info", octets: info)
        return try deriveKey(.hkdf, parameters, count: count)
    }
}

/// scrypt (RFC 7914): slow and memory-hard, for passwords.
///
/// One derivation takes about 128 · n · r octets and a good part of a second. The caller keeps it off event loops and
/// bounds the number in flight.
package enum Scrypt {
    package struct Cost: Sendable, Hashable {
        /// CPU and memory cost; a power of two above 1.
        package var n: UInt64
        /// Block size.
        package var r: UInt32
        /// Parallelisation.
        package var p: UInt32

        package init(n: UInt64, r: UInt32, p: UInt32) {
            self.n = n
            self.r = r
            self.p = p
        }

        /// The bytes that OpenSSL adds up before it starts: B, V and the work blocks X and T. nil beyond 64 bits.
        fileprivate var memory: UInt64? {
            let block = UInt64(r).multipliedReportingOverflow(by: 128)
            let blocks = n.addingReportingOverflow(UInt64(p) + 2)
            let total = block.partialValue.multipliedReportingOverflow(by: blocks.partialValue)
            return block.overflow || blocks.overflow || total.overflow ? nil : total.partialValue
        }
    }

    package static func derive(
        password: [UInt8], salt: [UInt8], cost: Cost, count: Int
    ) throws(OpenSSLError) -> SecretBytes {
        guard let memory = cost.memory else { throw OpenSSLError("scrypt", refused: "cost beyond 64 bits") }
        ERR_clear_error()
        defer { ERR_clear_error() }
        var parameters = Parameters()
        parameters.add("pass", octets: password)
        parameters.add("salt", octets: salt)
        // OpenSSL's defaults for these take 1 GiB, and its memory limit refuses costs that ask for more.
        parameters.add("n", number: cost.n)
        parameters.add("r", number: UInt64(cost.r))
        parameters.add("p", number: UInt64(cost.p))
        parameters.add("maxmem_bytes", number: memory)
        return SecretBytes(try deriveKey(.scrypt, parameters, count: count))
    }
}

/// PBKDF2 (RFC 8018) with HMAC: what other systems hashed passwords with.
package enum PBKDF2 {
    package enum Digest: Sendable {
        case sha1, sha256, sha512

        fileprivate var name: StaticString {
            switch self {
            case .sha1: "SHA1"
            case .sha256: "SHA256"
            case .sha512: "SHA512"
            }
        }
    }

    package static func derive(
        password: [UInt8], salt: [UInt8], digest: Digest, iterations: UInt32, count: Int
    ) throws(OpenSSLError) -> SecretBytes {
        ERR_clear_error()
        defer { ERR_clear_error() }
        var parameters = Parameters()
        parameters.add("digest", text: digest.name)
        parameters.add("pass", octets: password)
        parameters.add("salt", octets: salt)
        parameters.add("iter", number: UInt64(iterations))
        // Salts shorter than SP 800-132 wants are what others have.
        parameters.add("pkcs5", number: 1)
        return SecretBytes(try deriveKey(.pbkdf2, parameters, count: count))
    }
}

private func deriveKey(
    _ algorithm: Algorithm, _ parameters: borrowing Parameters, count: Int
) throws(OpenSSLError) -> [UInt8] {
    guard count > 0 else { throw OpenSSLError("EVP_KDF_derive", refused: "no output asked for") }
    let context = try unsafe Handle(EVP_KDF_CTX_new(algorithm.fetched), freedBy: EVP_KDF_CTX_free, "EVP_KDF_CTX_new")
    var derived = [UInt8](repeating: 0, count: count)
    let result = unsafe derived.withUnsafeMutableBufferPointer { derived in
        unsafe parameters.withPointer {
            unsafe EVP_KDF_derive(context.pointer, derived.baseAddress, derived.count, $0)
        }
    }
    try require(result, "EVP_KDF_derive")
    return derived
}
