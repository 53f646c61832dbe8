import Foundation
import OpenSSL
import TestSupport
import Testing

/// A PEM block around any octets.
func armour(_ der: [UInt8], _ label: String, header: String = "") -> [UInt8] {
    let text = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
    return Array("-----BEGIN \(label)-----\n\(header)\(text)\n-----END \(label)-----\n".utf8)
}

struct `Private keys` {
    @Test func `a P-256 key survives PEM and DER`() throws {
        let key = try P256PrivateKey()
        let message = Array("message".utf8)
        for read in try [P256PrivateKey(pem: key.pem()), P256PrivateKey(der: key.der)] {
            #expect(read.x == key.x)
            #expect(read.y == key.y)
            #expect(try key.publicKey.verifies(read.sign(message), of: message))
        }
    }

    @Test func `an RSA key survives PEM`() throws {
        let key = try rsaKey.get()
        let read = try RSAPrivateKey(pem: key.pem())
        #expect(read.modulus == key.modulus)
        #expect(read.exponent == [1, 0, 1])
        #expect(try key.publicKey.verifies(read.sign([1]), of: [1]))
    }

    /// 43 · G has such a y, 379 · G such an x. The point is left out of the structure, as it may be.
    @Test(
        arguments: [
            (
                [0, 43], "986ae2506f1ff104d04230861d8f4b498f4bc4c6d009b30f7544dc129b82d28d",
                "003cccc0a6460e0ae328a4d97d3c7b61d86fc6289c189f2525110c441bb07e97"
            ),
            (
                [1, 123], "005543894af3d00ed7d740abdbd75c96b06877b787db5f70eea78b90a8d7c00a",
                "bb4c85a3d8ea29efaafa24406912dd84d5b14dc32bf656ef6c6bd58a5d943f92"
            ),
        ] as [([UInt8], String, String)])
    func `a coordinate keeps its leading zeros`(scalar: [UInt8], x: String, y: String) throws {
        let head = [UInt8](hex: "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420")
        let key = try P256PrivateKey(der: head + [UInt8](repeating: 0, count: 30) + scalar)
        #expect(key.x.hex == x)
        #expect(key.y.hex == y)
        #expect(try key.publicKey.verifies(key.sign([1]), of: [1]))
    }

    @Test(arguments: try RefusedKey.privateKeys) func `a key of another kind is no P-256 key`(key: DataFile) {
        #expect(throws: OpenSSLError.self) { try P256PrivateKey(pem: key.bytes) }
    }

    @Test(arguments: try RefusedKey.privateKeys) func `a key of another kind is no RSA key`(key: DataFile) {
        #expect(throws: OpenSSLError.self) { try RSAPrivateKey(pem: key.bytes) }
    }

    @Test func `an RSA key is no P-256 key, and the reverse`() throws {
        let rsa = try rsaKey.get().pem()
        let p256 = try P256PrivateKey().pem()
        #expect(throws: OpenSSLError.self) { try P256PrivateKey(pem: rsa) }
        #expect(throws: OpenSSLError.self) { try RSAPrivateKey(pem: p256) }
    }

    @Test(arguments: [0, 1024, 2047, 8193, Int.max, -1]) func `no RSA key of another size is made`(bits: Int) {
        #expect(throws: OpenSSLError.self) { try RSAPrivateKey(bits: bits) }
    }

    @Test func `whitespace around the block is no data`() throws {
        let pem = try P256PrivateKey().pem()
        #expect(throws: Never.self) { try P256PrivateKey(pem: Array("\n  ".utf8) + pem + Array("\r\n\t\n".utf8)) }
        let crlf = pem.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
        #expect(throws: Never.self) { try P256PrivateKey(pem: crlf) }
        #expect(throws: Never.self) { try P256PrivateKey(pem: pem.dropLast()) }
    }

    @Test func `anything else around the block is refused`() throws {
        let pem = try P256PrivateKey().pem()
        let other = try P256PrivateKey().pem()
        for text in [
            pem + other, pem + [0x78], pem + [0], [0] + pem, Array("Bag Attributes\n".utf8) + pem,
            Array("# comment\n".utf8) + pem, [0xEF, 0xBB, 0xBF] + pem,
        ] { #expect(throws: OpenSSLError.self) { try P256PrivateKey(pem: text) } }
    }

    @Test func `a block that is cut or spoilt is refused`() throws {
        let pem = try P256PrivateKey().pem()
        for count in 0..<(pem.count - 1) {
            #expect(throws: OpenSSLError.self) { try P256PrivateKey(pem: Array(pem.prefix(count))) }
        }
        var withNUL = pem
        withNUL[40] = 0
        #expect(throws: OpenSSLError.self) { try P256PrivateKey(pem: withNUL) }
    }

    @Test func `a block that claims to be encrypted is refused, whatever is in it`() throws {
        let header = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,37AD7252C1039B418759DCA3FF9DE389\n\n"
        let der = try P256PrivateKey().der
        #expect(throws: Never.self) { try P256PrivateKey(pem: armour(der, "PRIVATE KEY")) }
        #expect(throws: OpenSSLError.self) { try P256PrivateKey(pem: armour(der, "PRIVATE KEY", header: header)) }
    }

    @Test func `octets after the structure are refused`() throws {
        let der = try P256PrivateKey().der
        #expect(throws: OpenSSLError.self) { try P256PrivateKey(der: der + [0]) }
        #expect(throws: OpenSSLError.self) { try P256PrivateKey(pem: armour(der + [0], "PRIVATE KEY")) }
        let rsa = try rsaKey.get()
        #expect(throws: OpenSSLError.self) { try PublicKey(pem: armour(rsa.publicKey.der + [0], "PUBLIC KEY")) }
    }

    @Test func `a structure that is cut is refused`() throws {
        let der = try P256PrivateKey().der
        for count in der.indices {
            #expect(throws: OpenSSLError.self) { try P256PrivateKey(der: Array(der.prefix(count))) }
        }
    }

    /// In this PKCS#8 the scalar is the 32 octets from 36 on and the point's coordinates are the last 64.
    @Test func `a public half that is another key's is refused`() throws {
        let der = try P256PrivateKey().der
        let other = try P256PrivateKey()
        #expect(der.count == 138)
        #expect(throws: OpenSSLError.self) { try P256PrivateKey(der: der.dropLast(64) + other.x + other.y) }
    }

    @Test func `a private half outside 1 ..< n is refused`() throws {
        let key = try P256PrivateKey()
        let order = [UInt8](hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        for scalar in [[UInt8](repeating: 0, count: 32), order, [UInt8](repeating: 0xFF, count: 32)] {
            var der = try key.der
            der.replaceSubrange(36..<68, with: scalar)
            #expect(throws: OpenSSLError.self) { try P256PrivateKey(der: der) }
        }
    }
}
