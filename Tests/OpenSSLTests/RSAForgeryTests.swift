import COpenSSL
import OpenSSL
import Testing

/// Encoded messages that lenient verifiers took for PKCS #1 v1.5 (Bleichenbacher 2006 and its descendants). The test
/// holds the private key and so can sign any block; a verifier that parses instead of comparing would be caught.
struct `RSA forgeries` {
    private let message = Array("message".utf8)

    /// `DigestInfo` of SHA-256 up to the digest (RFC 8017 §9.2, note 1).
    private static let digestInfo = [UInt8](hex: "3031300d060960864801650304020105000420")

    /// The block the RFC asks for: `00 01 FF … FF 00 DigestInfo digest`.
    private func block(
        type: [UInt8] = [0, 1], padding: UInt8 = 0xFF, separator: [UInt8] = [0], info: [UInt8] = digestInfo,
        digest: [UInt8]? = nil, garbage: [UInt8] = [], paddingCount: Int? = nil
    ) -> [UInt8] {
        let tail = separator + info + (digest ?? SHA256.hash(message))
        let count = paddingCount ?? 256 - type.count - tail.count - garbage.count
        let head = type + [UInt8](repeating: padding, count: count) + tail + garbage
        return head + [UInt8](repeating: 0, count: 256 - head.count)
    }

    /// RSA without any padding of its own.
    private func sign(_ block: [UInt8]) throws -> [UInt8] {
        let pem = try rsaKey.get().pem()
        let bio = BIO_new_mem_buf(pem, Int32(pem.count))
        defer { BIO_free(bio) }
        let key = PEM_read_bio_PrivateKey(bio, nil, nil, nil)
        defer { EVP_PKEY_free(key) }
        let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 256)
        var count = signature.count
        #expect(EVP_PKEY_sign_init(context) == 1)
        #expect(EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1)
        #expect(EVP_PKEY_sign(context, &signature, &count, block, block.count) == 1)
        return signature
    }

    @Test func `the block of the RFC holds when signed this way`() throws {
        #expect(try rsaKey.get().publicKey.verifies(sign(block()), of: message))
    }

    @Test func `any other block is refused`() throws {
        let digest = SHA256.hash(message)
        let noNull = [UInt8](hex: "302f300b0609608648016503040201 0420")
        let nullAsSequence = [UInt8](hex: "3031300d060960864801650304020130000420")
        let longLengths = [UInt8](hex: "308131 300d06096086480165030402010500 0420")
        let indefinite = [UInt8](hex: "3080 300d06096086480165030402010500 0420")
        let sha1 = [UInt8](hex: "3021300906052b0e03021a05000414")
        let sha512 = [UInt8](hex: "3051300d060960864801650304020305000440")
        let forgeries: [(String, [UInt8])] = [
            ("garbage after the digest", block(garbage: [UInt8](repeating: 0xAB, count: 20))),
            ("eight octets of padding, then garbage", block(paddingCount: 8)),
            ("no padding, garbage to the end", block(paddingCount: 0)),
            ("seven octets of padding before zeros", block(type: [0, 1], separator: [0], paddingCount: 7)),
            ("encryption's block type", block(type: [0, 2])),
            ("block type 0", block(type: [0, 0], padding: 0)),
            ("padding of another octet", block(padding: 0xFE)),
            ("a separator that is not zero", block(separator: [1])),
            ("no separator", block(separator: [])),
            ("no DigestInfo", block(info: [])),
            ("no parameters", block(info: noNull)),
            ("parameters that are not NULL", block(info: nullAsSequence)),
            ("long-form length", block(info: longLengths)),
            ("indefinite length", block(info: indefinite, garbage: [0, 0])),
            ("SHA-1's name", block(info: sha1, digest: Array(digest.prefix(20)))),
            ("SHA-512 in its place", block(info: sha512, digest: SHA512.hash(message))),
            ("a cut digest", block(digest: Array(digest.dropLast()))),
            ("a longer digest", block(digest: digest + [0])),
            ("another message's digest", block(digest: SHA256.hash(message + [0]))),
            ("a first octet that is not zero", [1] + block().dropFirst()),
        ]
        let key = try rsaKey.get().publicKey
        for (name, forgery) in forgeries { #expect(try !key.verifies(sign(forgery), of: message), "\(name)") }
        #expect(Set(forgeries.map(\.1)).count == forgeries.count)
        #expect(!forgeries.map(\.1).contains(block()))
    }

    @Test func `a signature that is 0, 1 or the modulus is refused`() throws {
        let key = try rsaKey.get()
        let zeros = [UInt8](repeating: 0, count: 256)
        for signature in [zeros, zeros.flippingBit(at: 255), key.modulus] {
            #expect(!key.publicKey.verifies(signature, of: message))
        }
        #expect(!key.publicKey.verifies(zeros, of: []))
    }

    /// s + n is the same number modulo n, and a second text of one signature where it fits the length.
    @Test func `a signature not reduced by the modulus is refused`() throws {
        let key = try rsaKey.get()
        for number in 0..<5000 {
            let message = Array("message \(number)".utf8)
            var carry = 0
            let sum = Array(
                zip(try key.sign(message), key.modulus).reversed().map { a, b in
                    carry += Int(a) + Int(b)
                    defer { carry >>= 8 }
                    return UInt8(carry & 255)
                }.reversed())
            guard carry == 0 else { continue }
            #expect(!key.publicKey.verifies(sum, of: message))
            return
        }
        Issue.record("no signature below 2^2048 - n")
    }
}
