import Accounts
import Logging
import Storage

/// A refresh token for an access token (RFC 6749 §6): with a successor of itself, or the same one again.
extension OAuthServer {
    func refresh(
        _ request: TokenRequest, of client: OAuthClient, by call: Call
    ) async throws(OAuthFailure) -> TokenAnswer {
        let presented = try request.required("refresh_token")
        let hash = OAuthSecret.hash(ofPresented: presented)
        let scopes = try Self.scopes(request)
        let allowed = client.allowedScopes(of: configuration.scopes)
        let expiresAt = call.now.advanced(bySeconds: configuration.accessLifetime)
        let access = try OAuthSecret(.accessToken)
        let outcome = try await stored {
            client.rotatesRefresh
                ? try await grants.rotate(
                    hash, of: client.id, scopes: scopes, within: allowed, accessHash: access.hash,
                    accessExpiresAt: expiresAt, by: call.onBehalf(of: client)
                ) { time in
                    try successors.successors(of: presented, at: time).map {
                        OAuthSuccessor(text: $0.text, stored: $0.storedRefresh)
                    }
                }
                : try await refreshes.refresh(
                    OAuthRefreshRequest(
                        hash: hash, clientID: client.id, scopes: scopes, within: allowed, accessHash: access.hash,
                        accessExpiresAt: expiresAt, by: call))
        }
        switch outcome {
        case .issued(let granted, let successor):
            return answer(access, successor?.text, granted)
        case .scopeExceeded: throw .invalidScope
        case .rejected: throw .invalidGrant
        case .reused:
            logger.warning("oauth refresh token reused, grant ended", metadata: ["clientId": "\(client.id)"])
            throw .invalidGrant
        }
    }
}
