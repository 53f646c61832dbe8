package import JOSE
import JSON
package import OpenSSL
import Primitives

/// A signer of any header and any payload, with real keys, for tokens that a test expects to be accepted or refused.
package struct TokenMint: Sendable {
    package static let rsaKeyID = "rsa-1"
    package static let p256KeyID = "p256-1"

    package let rsa: RSAPrivateKey
    package let p256: P256PrivateKey

    /// Makes new keys; the RSA key has 2048 bits.
    package init() throws {
        rsa = try RSAPrivateKey(bits: 2048)
        p256 = try P256PrivateKey()
    }

    /// One mint for the whole test run; an RSA key takes a tenth of a second to generate.
    package static var shared: TokenMint {
        get throws { try made.get() }
    }

    /// Another issuer, whose keys no test trusts.
    package static var otherSigner: TokenMint {
        get throws { try untrustedMint.get() }
    }

    private static let made = Result { try TokenMint() }
    private static let untrustedMint = Result { try TokenMint() }

    /// The JWK Set document of both keys.
    package var keySetDocument: [UInt8] {
        PublicJWK.document([PublicJWK(rsa, keyID: Self.rsaKeyID), PublicJWK(p256, keyID: Self.p256KeyID)])
    }

    package var keySet: KeySet { KeySet(keys: [(Self.rsaKeyID, rsa.publicKey), (Self.p256KeyID, p256.publicKey)]) }

    /// The header that providers send: `alg` and `kid`.
    package func header(_ algorithm: SignatureAlgorithm) -> Members {
        ["alg": .string(algorithm.rawValue), "kid": .string(algorithm == .rs256 ? Self.rsaKeyID : Self.p256KeyID)]
    }

    /// A token of these claims, signed.
    package func token(
        _ claims: Members, header: Members? = nil, by algorithm: SignatureAlgorithm = .rs256
    ) throws -> [UInt8] {
        try token(header: (header ?? self.header(algorithm)).bytes, payload: claims.bytes, by: algorithm)
    }

    /// A token of any bytes as header and as payload, signed.
    package func token(header: [UInt8], payload: [UInt8], by algorithm: SignatureAlgorithm = .rs256) throws -> [UInt8] {
        try token(signing: "\(Base64URL.encode(header)).\(Base64URL.encode(payload))", by: algorithm)
    }

    /// A token of any text as its first two parts, signed.
    package func token(signing text: String, by algorithm: SignatureAlgorithm = .rs256) throws -> [UInt8] {
        let signed = [UInt8](text.utf8)
        let signature = algorithm == .rs256 ? try rsa.sign(signed.span.bytes) : try p256.sign(signed.span.bytes)
        return signed + [UInt8(ascii: ".")] + [UInt8](Base64URL.encode(signature).utf8)
    }
}

extension TokenMint {
    /// A JSON value by its text, which may be one that no encoder would write.
    package struct Literal: Sendable, Equatable {
        package let text: String

        /// Any text, as it is.
        package static func raw(_ text: String) -> Literal { Literal(text: text) }

        package static func string(_ value: String) -> Literal {
            var writer = JSONWriter()
            writer.string(value)
            return Literal(text: String(decoding: writer.bytes, as: UTF8.self))
        }

        package static func integer(_ value: Int64) -> Literal { Literal(text: String(value)) }

        package static let null = Literal(text: "null")
    }

    /// The members of a JSON object in their order; names may repeat.
    package struct Members: Sendable, ExpressibleByDictionaryLiteral {
        private var members: [(name: String, value: Literal)]

        package init(dictionaryLiteral elements: (String, Literal)...) {
            members = elements.map { (name: $0.0, value: $0.1) }
        }

        /// The first member of this name. `nil` removes every one; a new one goes to the end.
        package subscript(_ name: String) -> Literal? {
            get { members.first { $0.name == name }?.value }
            set {
                guard let newValue else { return members.removeAll { $0.name == name } }
                if let index = members.firstIndex(where: { $0.name == name }) {
                    members[index].value = newValue
                } else {
                    members.append((name, newValue))
                }
            }
        }

        /// Adds a member even if there is one of this name.
        package mutating func append(_ name: String, _ value: Literal) { members.append((name, value)) }

        /// A copy in which one member is different, or gone.
        package func with(_ name: String, _ value: Literal?) -> Members {
            var copy = self
            copy[name] = value
            return copy
        }

        package var bytes: [UInt8] {
            let body = members.map { "\(Literal.string($0.name).text):\($0.value.text)" }.joined(separator: ",")
            return [UInt8]("{\(body)}".utf8)
        }

        package var text: String { String(decoding: bytes, as: UTF8.self) }
    }
}

extension TokenMint.Literal: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }

    package init(integerLiteral value: Int64) { self = .integer(value) }

    package init(booleanLiteral value: Bool) { text = value ? "true" : "false" }

    package init(arrayLiteral elements: TokenMint.Literal...) {
        text = "[\(elements.map(\.text).joined(separator: ","))]"
    }
}
