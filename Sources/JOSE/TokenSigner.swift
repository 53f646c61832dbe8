import JSON
package import OpenSSL
import Primitives

/// A signer of ES256 tokens: our access tokens, and the client secrets for Apple.
package struct TokenSigner: Sendable {
    private let key: P256PrivateKey
    private let header: SigningHeader

    /// - Parameter type: the `typ` of the header; nil omits it.
    package init(key: P256PrivateKey, keyID: String, type: String? = nil) {
        self.key = key
        header = SigningHeader(algorithm: .es256, keyID: keyID, type: type)
    }

    /// - Parameter claims: a JSON object.
    package func sign(_ claims: [UInt8]) throws(OpenSSLError) -> String {
        try header.token(claims, signature: key.sign)
    }
}

/// A signer of RS256 tokens, for providers that accept nothing else.
package struct RSATokenSigner: Sendable {
    private let key: RSAPrivateKey
    private let header: SigningHeader

    /// - Parameter type: the `typ` of the header; nil omits it.
    package init(key: RSAPrivateKey, keyID: String, type: String? = nil) {
        self.key = key
        header = SigningHeader(algorithm: .rs256, keyID: keyID, type: type)
    }

    /// - Parameter claims: a JSON object.
    package func sign(_ claims: [UInt8]) throws(OpenSSLError) -> String {
        try header.token(claims, signature: key.sign)
    }
}

/// The first part of every token of one signer, encoded once.
private struct SigningHeader: Sendable {
    private let text: [UInt8]

    init(algorithm: SignatureAlgorithm, keyID: String, type: String?) {
        let header = JSONWriter.object { writer in
            writer.member("alg", algorithm.rawValue)
            writer.member("kid", keyID)
            writer.member("typ", type)
        }
        var text: [UInt8] = []
        Base64URL.append(header, to: &text)
        text.append(UInt8(ascii: "."))
        self.text = text
    }

    func token(
        _ claims: [UInt8], signature: (RawSpan) throws(OpenSSLError) -> [UInt8]
    ) throws(OpenSSLError) -> String {
        var token = text
        Base64URL.append(claims, to: &token)
        let signature = try signature(token.span.bytes)
        token.append(UInt8(ascii: "."))
        Base64URL.append(signature, to: &token)
        return String(decoding: token, as: UTF8.self)
    }
}
