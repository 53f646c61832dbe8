package import Accounts
import KeyRing
import OpenSSL

/// A grant that an exchanged code brought, before it is stored.
package struct NewGrant: Sendable {
    package let clientID: ProviderClientID
    /// The provider refresh token.
    package let refreshToken: ProviderRefreshToken
    package let exchangedAt: Timestamp
    /// When the provider is to be asked whether it still honours the token; `nil` for never.
    package let checkAt: Timestamp?

    package init(
        clientID: ProviderClientID, refreshToken: ProviderRefreshToken, exchangedAt: Timestamp, checkAt: Timestamp?
    ) {
        self.clientID = clientID
        self.refreshToken = refreshToken
        self.exchangedAt = exchangedAt
        self.checkAt = checkAt
    }
}

/// A grant as it is stored: the provider refresh token is sealed, with fingerprints by which the token of a security
/// event is found.
struct SealedGrant: Sendable {
    let id: GrantID
    let clientID: ProviderClientID
    let exchangedAt: Timestamp
    let checkAt: Timestamp?
    let sealedRefreshToken: [UInt8]
    let fingerprints: ProviderTokenFingerprints

    init(_ grant: NewGrant, keyRing: KeyRing) throws(OpenSSLError) {
        let token = Array(grant.refreshToken.text.utf8)
        id = GrantID(now: grant.exchangedAt)
        clientID = grant.clientID
        exchangedAt = grant.exchangedAt
        checkAt = grant.checkAt
        sealedRefreshToken = try keyRing.seal(token, for: .grants, at: SealedGrant.location(id))
        fingerprints = try ProviderTokenFingerprints(of: token, key: keyRing.current(for: .grants))
    }

    /// The id is new with every token, so a ciphertext belongs to one row forever.
    static func location(_ id: GrantID) -> SealedLocation {
        SealedLocation(table: "provider_grants", row: id.description, column: "sealed_refresh_token")
    }
}

/// Keyed digests of the two forms in which Google's security events name a provider refresh token: its first 16
/// characters, and SHA-512 of its SHA-512. They reveal nothing without the key ring.
package struct ProviderTokenFingerprints: Equatable, Sendable {
    package let prefix: [UInt8]
    package let digest: [UInt8]

    init(of token: [UInt8], key: KeyRing.Subkey) throws(OpenSSLError) {
        prefix = try ProviderTokenFingerprints.prefix(Array(token.prefix(16)), key: key)
        digest = try ProviderTokenFingerprints.digest(SHA512.hash(SHA512.hash(token)), key: key)
    }

    static func prefix(_ prefix: [UInt8], key: KeyRing.Subkey) throws(OpenSSLError) -> [UInt8] {
        try fingerprint(prefix, "prefix", key: key)
    }

    static func digest(_ digest: [UInt8], key: KeyRing.Subkey) throws(OpenSSLError) -> [UInt8] {
        try fingerprint(digest, "digest", key: key)
    }

    /// A key of its own for each form, so that nothing is both sealed and digested under one.
    private static func fingerprint(
        _ value: [UInt8], _ form: String, key: KeyRing.Subkey
    ) throws(OpenSSLError) -> [UInt8] {
        let subkey = try HKDFSHA256.derive(from: key.bytes, label: "fingerprint \(form)", count: 32)
        return try HMACSHA256.authenticationCode(for: value, key: subkey).bytes
    }
}
