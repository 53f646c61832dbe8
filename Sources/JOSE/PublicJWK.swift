package import JSON
package import OpenSSL
import Primitives

/// The public half of a key as a JWK (RFC 7517), for the key set that we publish.
package struct PublicJWK: Sendable {
    private enum Material: Sendable {
        case rsa(modulus: [UInt8], exponent: [UInt8])
        case p256(x: [UInt8], y: [UInt8])
    }

    package let keyID: String
    private let material: Material

    /// - Parameter keyID: the `kid`; the thumbprint of the key without one.
    package init(_ key: P256PrivateKey, keyID: String? = nil) { self.init(.p256(x: key.x, y: key.y), keyID: keyID) }

    /// - Parameter keyID: the `kid`; the thumbprint of the key without one.
    package init(_ key: RSAPrivateKey, keyID: String? = nil) {
        self.init(rsaModulus: key.modulus, exponent: key.exponent, keyID: keyID)
    }

    /// - Parameters:
    ///   - rsaModulus: big-endian, in the fewest octets, as is the exponent.
    ///   - keyID: the `kid`; the thumbprint of the key without one.
    package init(rsaModulus: [UInt8], exponent: [UInt8], keyID: String? = nil) {
        self.init(.rsa(modulus: rsaModulus, exponent: exponent), keyID: keyID)
    }

    private init(_ material: Material, keyID: String?) {
        self.material = material
        self.keyID = keyID ?? Self.thumbprint(material)
    }

    /// The JWK Set document of these keys.
    package static func document(_ keys: [PublicJWK]) -> [UInt8] {
        JSONWriter.object { writer in
            writer.objects("keys", of: keys) { $0.write(to: &$1) }
        }
    }

    /// RFC 7638: SHA-256 over the members that make the key, in the order of their names.
    private static func thumbprint(_ material: Material) -> String {
        let required = JSONWriter.object { writer in
            for (name, value) in members(material) { writer.member(name, value) }
        }
        return Base64URL.encode(SHA256.hash(required))
    }

    /// In lexicographic order, as RFC 7638 §3 wants them.
    private static func members(_ material: Material) -> [(String, String)] {
        switch material {
        case .rsa(let modulus, let exponent):
            [("e", Base64URL.encode(exponent)), ("kty", "RSA"), ("n", Base64URL.encode(modulus))]
        case .p256(let x, let y):
            [("crv", "P-256"), ("kty", "EC"), ("x", Base64URL.encode(x)), ("y", Base64URL.encode(y))]
        }
    }

    /// Writes the members of the JWK.
    package func write(to writer: inout JSONWriter) {
        for (name, value) in Self.members(material) { writer.member(name, value) }
        writer.member("kid", keyID)
        writer.member("use", "sig")
        let algorithm: SignatureAlgorithm =
            switch material {
            case .rsa: .rs256
            case .p256: .es256
            }
        writer.member("alg", algorithm.rawValue)
    }
}
