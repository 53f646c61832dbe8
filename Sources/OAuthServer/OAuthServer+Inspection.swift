package import Accounts
import Storage

/// What a client sees of tokens and persons, and how it gives tokens back.
extension OAuthServer {
    /// A token that is good (RFC 7662 §2.2).
    package struct Introspection: Sendable {
        /// Empty where the client may have none of what was granted any more.
        package let scope: String
        package let clientID: String
        package let subject: AccountID
        package let isAccessToken: Bool
        package let issuedAt: Timestamp
        package let expiresAt: Timestamp?
        package let issuer: String
    }

    /// - Parameter client: authenticated. It sees its own tokens, and all if it may.
    /// - Returns: `nil` for a token that is good for nothing, for whatever reason.
    package func introspect(
        _ token: String, for client: OAuthClient, by call: Call
    ) async throws(OAuthFailure) -> Introspection? {
        try await metrics.counting(.introspect) { () throws(OAuthFailure) in
            let kind = OAuthSecret.kind(ofPresented: token)
            let hash = OAuthSecret.hash(ofPresented: token)
            let found: LiveOAuthToken? = try await stored {
                switch kind {
                case .accessToken: try await grants.accessToken(hash, by: call)
                case .refreshToken: try await grants.refreshToken(hash)
                default: nil
                }
            }
            guard let found, found.clientID == client.id || client.introspects else { return nil }
            return Introspection(
                scope: found.scopes(of: configuration.scopes).description, clientID: found.clientID.text,
                subject: found.accountID,
                isAccessToken: kind == .accessToken, issuedAt: found.issuedAt, expiresAt: found.expiresAt,
                issuer: configuration.issuer)
        }
    }

    /// - Parameter client: authenticated. The token of another stays.
    package func revoke(_ token: String, of client: OAuthClient, by call: Call) async throws(OAuthFailure) {
        try await metrics.counting(.revoke) { () throws(OAuthFailure) in
            try await stored {
                try await grants.revoke(
                    OAuthSecret.hash(ofPresented: token), of: client.id, by: call.onBehalf(of: client))
            }
        }
    }

    /// The person of an access token, as far as its scopes go.
    package struct UserInfo: Sendable {
        package let subject: AccountID
        package let email: EmailAddress?
        /// Of the address: whether its mailbox is proven.
        package let isEmailProven: Bool
        package let name: String?
    }

    /// Why there is no answer (RFC 6750 §3.1).
    package enum UserInfoRefusal: Error, Equatable, Sendable {
        case invalidToken
        case insufficientScope
        case failed(OAuthFailure)
    }

    package func userInfo(_ token: String, by call: Call) async throws(UserInfoRefusal) -> UserInfo {
        try await metrics.counting(.userinfo) { () throws(UserInfoRefusal) in
            try await readUserInfo(token, by: call)
        }
    }

    private func readUserInfo(_ token: String, by call: Call) async throws(UserInfoRefusal) -> UserInfo {
        let found: LiveOAuthToken?
        let account: Account?
        do throws(OAuthFailure) {
            found = try await stored {
                try await grants.accessToken(OAuthSecret.hash(ofPresented: token), by: call)
            }
            let id = found?.accountID
            account = if let id { try await stored { try await accounts.account(id) } } else { nil }
        } catch {
            throw .failed(error)
        }
        guard let found, let account else { throw .invalidToken }
        let scopes = found.scopes(of: configuration.scopes)
        let (seesEmail, seesName) = (scopes.contains(.email), scopes.contains(.profile))
        guard seesEmail || seesName else { throw .insufficientScope }
        return UserInfo(
            subject: account.id, email: seesEmail && account.isEmailVerified ? account.email : nil,
            isEmailProven: account.emailProof == .proven, name: seesName ? account.displayName?.text : nil)
    }
}
