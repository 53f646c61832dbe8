import Accounts
import Logging
import SignIn
import Storage

/// A code for tokens (RFC 6749 §4.1.3), by the redirect URI and the verifier that it was asked for with.
extension OAuthServer {
    func redeem(
        _ request: TokenRequest, of client: OAuthClient, by call: Call
    ) async throws(OAuthFailure) -> TokenAnswer {
        let code = try request.required("code")
        let tokens = try IssuedOAuthTokens()
        let proof = OAuthCodeProof(
            client: client, allowedScopes: client.allowedScopes(of: configuration.scopes),
            redirectURI: request["redirect_uri"],
            challenge: request["code_verifier"].map(CodeChallenge.s256(ofPresented:)))
        let new = tokens.stored(accessExpiresAt: call.now.advanced(bySeconds: configuration.accessLifetime))
        let outcome = try await stored {
            try await grants.redeem(
                OAuthSecret.hash(ofPresented: code), by: proof, for: new, by: call.onBehalf(of: client))
        }
        switch outcome {
        case .issued(let scopes, let origin, let redirectURI):
            if origin == .flip {
                // Which of a client's URIs Google's servers name for a flip's code is not documented.
                logger.info(
                    "flip code redeemed",
                    metadata: [
                        "clientId": "\(client.id)", "sameRedirectUri": "\(request["redirect_uri"] == redirectURI)",
                    ])
            }
            return answer(tokens.access, tokens.refresh.text, scopes)
        case .reused:
            logger.warning("oauth code reused, tokens ended", metadata: ["clientId": "\(client.id)"])
            throw .invalidGrant
        case .rejected(let reason):
            logger.info("oauth code refused", metadata: ["clientId": "\(client.id)", "reason": "\(reason)"])
            throw .invalidGrant
        }
    }
}
