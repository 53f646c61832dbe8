import Accounts
import OpenSSL
import Primitives
import SignIn
import Storage

/// A secret of 256 random bits with a prefix that says what it is; SHA-256 of its text in the database.
struct OAuthSecret: Sendable {
    enum Kind: String {
        case accessToken = "at_"
        case refreshToken = "rt_"
        case clientSecret = "cs_"
        case code = ""
    }

    private static let maximumBytes = 512

    let text: String
    let hash: [UInt8]

    init(_ kind: Kind) throws(OAuthFailure) {
        do {
            text = kind.rawValue + (try OpaqueSecret().text)
        } catch {
            throw .fault(operation: "random")
        }
        hash = SHA256.hash(Array(text.utf8))
    }

    /// The kind of a presented token, which its prefix says; nil for what was never issued as one.
    static func kind(ofPresented text: String) -> Kind? {
        [.accessToken, .refreshToken].first { text.hasPrefix($0.rawValue) }
    }

    /// The hash of a presented secret. Whatever is presented has one.
    static func hash(ofPresented text: String) -> [UInt8] {
        SHA256.hash(Array(text.utf8.prefix(maximumBytes + 1)))
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
        NewOAuthTokens(
            accessHash: access.hash, accessExpiresAt: accessExpiresAt,
            refresh: .init(hash: refresh.hash, fingerprint: TokenFingerprint.of(refresh.text)))
    }
}

/// How a security event names a refresh token: SHA-512 of the SHA-512 of its text (sheet account-linking §9).
package enum TokenFingerprint {
    package static func of(_ token: String) -> [UInt8] { SHA512.hash(SHA512.hash(Array(token.utf8))) }
}
