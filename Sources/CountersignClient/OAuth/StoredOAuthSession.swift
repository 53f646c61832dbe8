import Foundation

/// The document of an OAuth session in its store (`StoredForm`).
struct StoredOAuthSession: Sendable, Equatable, Codable {
    let configuration: OAuthConfiguration
    /// The client that got the grant: no other can refresh it.
    let clientID: String
    let clientSecret: String?
    var tokens: OAuthTokens
    /// A server has rejected the access token.
    var needsRefresh: Bool?

    /// - Parameter data: what a store holds; nothing is nil.
    static func read(_ data: Data?) throws(SessionError) -> Self? { try StoredForm.read(Self.self, data) }

    /// The access token when it is good for more than another minute.
    func freshToken(_ now: Date) -> String? {
        guard needsRefresh != true, let token = accessToken else { return nil }
        guard let expiresAt = tokens.expiresAt else { return token }
        return expiresAt.timeIntervalSince(now) > 60 ? token : nil
    }

    /// The access token when it has not ended.
    func unexpiredToken(_ now: Date) -> String? {
        guard let token = accessToken else { return nil }
        return tokens.expiresAt.map { $0 > now } ?? true ? token : nil
    }

    private var accessToken: String? { tokens.accessToken.flatMap { isToken($0) ? $0 : nil } }

    var refreshToken: String? { tokens.refreshToken.flatMap { $0.isEmpty ? nil : $0 } }

    func isSession(of other: Self) -> Bool { clientID == other.clientID && configuration == other.configuration }

    mutating func apply(_ grant: TokenGrant) {
        tokens.accessToken = grant.accessToken
        tokens.expiresAt = grant.expiresAt
        tokens.refreshToken = grant.refreshToken ?? tokens.refreshToken
        tokens.idToken = grant.idToken ?? tokens.idToken
        tokens.scope = grant.scope ?? tokens.scope
        tokens = tokens.labelled()
        needsRefresh = nil
    }
}
