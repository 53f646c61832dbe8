import Foundation
import Testing

@testable import CountersignClient

extension Data {
    /// Of hexadecimal digits.
    init(hex: String) {
        let digits = Array(hex.utf8).filter { $0 > 0x20 }
        self.init(
            stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
            })
    }

    var hex: String { map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }.joined() }
}

@Suite struct CipherTests {
    /// FIPS 180-4's examples, and each length around the end of a block (computed by OpenSSL).
    @Test(arguments: [
        (Data(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (Data("abc".utf8), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Data("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (Data(repeating: 0x61, count: 55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        (Data(repeating: 0x61, count: 56), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
        (Data(repeating: 0x61, count: 63), "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"),
        (Data(repeating: 0x61, count: 64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        (Data(repeating: 0x61, count: 65), "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"),
        (Data(repeating: 0x61, count: 119), "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
        (Data(repeating: 0x61, count: 120), "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"),
        (Data(repeating: 0x61, count: 10_000), "27dd1f61b867b6a0f6e9d8a41c43231de52107e53ae424de8f847b821db4b711"),
    ]) func `the published hashes come out`(_ bytes: Data, _ hash: String) { #expect(sha256(bytes).hex == hash) }

    private static let key = Data(hex: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f")
    private static let nonce = Data(hex: "070000004041424344454647")
    private static let purpose = Data(hex: "50515253c0c1c2c3c4c5c6c7")
    private static let plain = Data(
        """
        Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, \
        sunscreen would be it.
        """.utf8)
    /// RFC 8439 §2.8.2: nonce, ciphertext, tag.
    private static let sealed = Data(
        hex: """
            070000004041424344454647
            d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6
            3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36
            92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc
            3ff4def08e4b7a9de576d26586cec64b6116
            1ae10b594f09e26a7e902ecbd0600691
            """)

    @Test func `the RFC's example is sealed and opened byte for byte`() throws {
        let sealed = SealedBytes.seal(Self.plain, key: Self.key, purpose: Self.purpose, nonce: Self.nonce)
        #expect(sealed?.hex == Self.sealed.hex)
        #expect(SealedBytes.open(Self.sealed, key: Self.key, purpose: Self.purpose) == Self.plain)
    }

    /// The hash of what OpenSSL seals, for plain texts and purposes that end within, at and behind a block.
    @Test(arguments: [
        (0, "3ce97b71cb2f4ca38363e3b628560b992a83fd01a504ef6556952f5037fb4e1c"),
        (1, "e8a1a2d428e267dc5bfd9e7c222c33df01c2402545e994c89e9a6c2bfaced027"),
        (15, "032caac6aeeeda355e1647c3961b88449bd8fb908ae989b123331d83b59fff52"),
        (16, "7c849c37cef376d79470b1bfeeea0e8f9d963a00f28eb49b83d22eb179e26cf8"),
        (17, "d59c331792e63f329a9a2894ba1862693722fb2243b36d54881cef13b071218a"),
        (63, "1c7f88042e71e68367291400c5ac2647c3f9196c3567c75193fc8f2cbe7e5834"),
        (64, "a9c7588b7f05c3084f9adbe946472115103e887777e0cfe7b65553807665808e"),
        (65, "e7e2872a3e7870bf6f197b8b79e5a190a04fd824a029ed38eecf81178e28e1a6"),
        (1_000, "afe2556abf29f0c4974aaab0a5f84b9cc7905b69c9b116fe1f40f65390cce072"),
    ]) func `texts of any length are sealed as OpenSSL seals them`(_ count: Int, _ hash: String) throws {
        let plain = Data((0..<count).map { UInt8($0 % 251) })
        let purpose = Data((0..<count % 33).map { UInt8($0 % 7) })
        let sealed = try #require(
            SealedBytes.seal(plain, key: Self.key, purpose: purpose, nonce: Data((0..<12).map { UInt8($0) })))
        #expect(sha256(sealed.dropFirst(12)).hex == hash)
        #expect(SealedBytes.open(sealed, key: Self.key, purpose: purpose) == plain)
    }

    @Test func `no byte of a sealed text can be changed`() {
        for index in Self.sealed.indices {
            var changed = Self.sealed
            changed[index] ^= 0x10
            #expect(SealedBytes.open(changed, key: Self.key, purpose: Self.purpose) == nil, "byte \(index)")
        }
        for count in 0..<Self.sealed.count {
            #expect(SealedBytes.open(Self.sealed.prefix(count), key: Self.key, purpose: Self.purpose) == nil)
        }
        #expect(SealedBytes.open(Self.sealed + [0], key: Self.key, purpose: Self.purpose) == nil)
    }

    @Test func `another key or purpose opens nothing, and a key has 32 bytes`() {
        var key = Self.key
        key[31] ^= 1
        #expect(SealedBytes.open(Self.sealed, key: key, purpose: Self.purpose) == nil)
        #expect(SealedBytes.open(Self.sealed, key: Self.key, purpose: Data()) == nil)
        #expect(SealedBytes.open(Self.sealed, key: Self.key.prefix(31), purpose: Self.purpose) == nil)
        #expect(SealedBytes.seal(Self.plain, key: Self.key + [0], purpose: Self.purpose) == nil)
    }

    @Test func `each seal has a nonce of its own`() {
        let seals = (0..<100).map { _ in SealedBytes.seal(Self.plain, key: Self.key, purpose: Self.purpose) }
        #expect(Set(seals.map { $0?.prefix(12) }).count == 100)
        #expect(seals.allSatisfy { SealedBytes.open($0 ?? Data(), key: Self.key, purpose: Self.purpose) == Self.plain })
    }

    #if !canImport(CryptoKit)
        /// RFC 8439 §2.3.2.
        @Test func `the RFC's block of the key stream comes out`() throws {
            let cipher = try #require(
                ChaCha20(key: Data((0..<32).map { UInt8($0) }), nonce: Data(hex: "000000090000004a00000000")))
            let block = """
                10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e
                d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e
                """
            #expect(cipher.block(1) == Array(Data(hex: block)))
        }

        /// RFC 8439 §2.5.2, and the vectors 7 to 11 of appendix A.3, where sums reach 2¹³⁰ − 5 and 2¹²⁸.
        @Test(arguments: [
            (
                "85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b",
                Data("Cryptographic Forum Research Group".utf8).hex, "a8061dc1305136c6c22b8baf0c0127a9"
            ),
            (tail("02") + tail(""), full(16), tail("03")),
            (tail("02") + full(16), tail("02"), tail("03")),
            (tail("01") + tail(""), full(16) + "f0" + full(15) + tail("11"), tail("05")),
            (
                tail("01") + tail(""),
                full(16) + "fb" + String(repeating: "fe", count: 15) + String(repeating: "01", count: 16), tail("")
            ),
            (tail("02") + tail(""), "fd" + full(15), "fa" + full(15)),
            (
                "01000000000000000400000000000000" + tail(""),
                """
                e33594d7505e43b900000000000000003394d7505e4379cd01000000000000000000000000000000000000000000000001\
                000000000000000000000000000000
                """, "14000000000000005500000000000000"
            ),
        ]) func `the RFC's authenticators come out`(_ key: String, _ message: String, _ tag: String) {
            #expect(poly1305(Data(hex: message), key: Data(hex: key)).hex == tag)
        }
    #endif
}

/// 16 bytes that begin with these.
private func tail(_ head: String) -> String { head + String(repeating: "0", count: 32 - head.count) }

private func full(_ count: Int) -> String { String(repeating: "ff", count: count) }
