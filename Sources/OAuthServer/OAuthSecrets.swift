package import Accounts
import KeyRing
import OpenSSL
import Primitives
import SignIn
import Storage

/// A secret of 256 bits with a prefix that says what it is; SHA-256 of its text in the database.
package struct OAuthSecret: Sendable {
    package enum Kind: String {
        case accessToken = "at_"
        case refreshToken = "rt_"
        case clientSecret = "cs_"
        case code = ""
    }

    private static let maximumBytes = 512

    package let text: String
    package let hash: SecretHash

    package init(_ kind: Kind) throws(OAuthFailure) {
        do {
            self.init(kind, try OpaqueSecret().text)
        } catch {
            throw .fault(operation: "random")
        }
    }

    /// The code that a client gets.
    init(code: OpaqueSecret) { self.init(.code, code.text) }

    fileprivate init(_ kind: Kind, _ secret: String) {
        text = kind.rawValue + secret
        hash = SecretHash(SHA256.hash(Array(text.utf8)))
    }

    /// The kind of a presented token, which its prefix says; nil for what was never issued as one.
    static func kind(ofPresented text: String) -> Kind? {
        [.accessToken, .refreshToken].first { text.hasPrefix($0.rawValue) }
    }

    /// The hash of a presented secret. Whatever is presented has one.
    static func hash(ofPresented text: String) -> SecretHash {
        SecretHash(SHA256.hash(Array(text.utf8.prefix(maximumBytes + 1))))
    }
}

/// The tokens of one answer, and what is stored of them.
struct IssuedOAuthTokens: Sendable {
    let access: OAuthSecret
    let refresh: OAuthSecret

    init() throws(OAuthFailure) {
        access = try OAuthSecret(.accessToken)
        refresh = try OAuthSecret(.refreshToken)
    }

    func stored(accessExpiresAt: Timestamp) -> NewOAuthTokens {
        NewOAuthTokens(accessHash: access.hash, accessExpiresAt: accessExpiresAt, refresh: refresh.storedRefresh)
    }
}

extension OAuthSecret {
    /// What is stored of a refresh token.
    var storedRefresh: NewOAuthTokens.Refresh { .init(hash: hash, fingerprint: TokenFingerprint.of(text)) }
}

/// The refresh tokens that take the place of others.
///
/// A successor is derived from the token that it replaces and the time, under the key ring's `refresh` subkey: who presents
/// the token again soon gets the same one, though the database has no more of either than the SHA-256.
struct RefreshSuccessors: Sendable {
    let keyRing: KeyRing

    /// The successors of a token that are issued at a time: one for each line of the key ring, first of the line that
    /// writes.
    func successors(of token: String, at time: Timestamp) throws(OpenSSLError) -> [OAuthSecret] {
        // No session's token is the HMAC of text that begins so: theirs begin with their version, 1.
        let message = Array("countersign oauth successor \(time.microseconds) \(token)".utf8)
        return try keyRing.all(for: .refresh).map { (subkey) throws(OpenSSLError) in
            let code = try HMACSHA256.authenticationCode(for: message, key: subkey.bytes)
            return OAuthSecret(.refreshToken, Base64URL.encode(code.bytes))
        }
    }
}

/// How a security event names a refresh token: SHA-512 of the SHA-512 of its text (docs/account-linking.md, "What is
/// not there").
package enum TokenFingerprint {
    package static func of(_ token: String) -> [UInt8] { SHA512.hash(SHA512.hash(Array(token.utf8))) }
}
