import JSON
package import OpenSSL
import Primitives

/// A signer of tokens: of our access tokens and the client secrets for Apple by ES256, and by RS256 for providers that accept
/// nothing else.
package struct TokenSigner: Sendable {
    private let signature: @Sendable (RawSpan) throws(OpenSSLError) -> [UInt8]
    /// The first part of every token, encoded once.
    private let header: [UInt8]

    /// - Parameter type: the `typ` of the header; nil omits it.
    package init(key: P256PrivateKey, keyID: String, type: String? = nil) {
        signature = key.sign
        header = Self.header(.es256, keyID, type)
    }

    /// - Parameter type: the `typ` of the header; nil omits it.
    package init(key: RSAPrivateKey, keyID: String, type: String? = nil) {
        signature = key.sign
        header = Self.header(.rs256, keyID, type)
    }

    private static func header(_ algorithm: SignatureAlgorithm, _ keyID: String, _ type: String?) -> [UInt8] {
        let header = JSONWriter.object { writer in
            writer.member("alg", algorithm.rawValue)
            writer.member("kid", keyID)
            writer.member("typ", type)
        }
        var text: [UInt8] = []
        Base64URL.append(header, to: &text)
        text.append(UInt8(ascii: "."))
        return text
    }

    /// - Parameter claims: a JSON object.
    package func sign(_ claims: [UInt8]) throws(OpenSSLError) -> String {
        var token = header
        Base64URL.append(claims, to: &token)
        let signature = try signature(token.span.bytes)
        token.append(UInt8(ascii: "."))
        Base64URL.append(signature, to: &token)
        return String(decoding: token, as: UTF8.self)
    }
}
