import OpenSSL
import Primitives

/// The signer of one provider's tokens: valid ones, or invalid in the ways that the control request asks for.
struct TokenMint: Sendable {
    let keys: ProviderKeys
    /// The `typ` of the header; Apple's tokens have none.
    let type: String?
    /// The source of the key that belongs to no provider.
    let store: KeyStore

    func mint(_ issued: JSONObject, overrides: TokenOverrides) async throws -> String {
        var claims = issued
        if overrides.booleansAsStrings { claims.convertBooleansToStrings() }
        for (name, value) in overrides.claims { claims.set(name, value) }
        for name in overrides.withoutClaims { claims.remove(name) }

        let key = try signingKey(overrides)
        var header: JSONObject = ["kid": key.id, "alg": overrides.algorithm ?? "RS256", "typ": type]
        for (name, value) in overrides.header { header.set(name, value) }
        for name in overrides.withoutHeader { header.remove(name) }

        let input = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        let signature = try await sign(Array(input.utf8), key: key, overrides: overrides)
        return input + "." + Base64URL.encode(signature)
    }

    /// The key that would sign such a token.
    func signingKey(_ overrides: TokenOverrides) throws(ControlRefusal) -> SigningKey {
        guard let key = keys.key(overrides.keyID) else {
            throw .notFound("There is no key \(overrides.keyID ?? ""); GET /control/…/keys lists them.")
        }
        return key
    }

    private var foreignKey: SigningKey { SigningKey(id: "foreign", name: "foreign", from: store) }

    private func sign(_ input: [UInt8], key: SigningKey, overrides: TokenOverrides) async throws -> [UInt8] {
        let material = try await (overrides.signature == .otherKey ? foreignKey : key).material
        var signature: [UInt8]
        switch overrides.algorithm {
        case "none": signature = []
        case "HS256": signature = try HMACSHA256.authenticationCode(for: input, key: material.modulus).bytes
        case "ES256": signature = try P256PrivateKey().sign(input.span.bytes)
        default: signature = try material.sign(input.span.bytes)
        }
        switch overrides.signature {
        case .absent: signature = []
        case .forged:
            if let middle = signature.indices.dropFirst(signature.count / 2).first { signature[middle] ^= 1 }
        case .valid, .otherKey: break
        }
        return signature
    }
}

/// `c_hash` and `at_hash`: the left half of the SHA-256 of the code or access token (OpenID Connect Core §3.3.2.11).
enum HalfHash {
    static func text(of value: String) -> String { Base64URL.encode(Array(SHA256.hash(Array(value.utf8)).prefix(16))) }
}
