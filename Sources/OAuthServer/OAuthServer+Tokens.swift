package import Accounts
import Logging
import OpenSSL
import Primitives
import SignIn
import Storage

/// The parameters of `POST /oauth/token`, each at most once; an empty one is absent.
package struct TokenRequest: Sendable {
    private let values: [String: String]

    package init(_ values: [String: String]) {
        self.values = values.filter { !$0.value.isEmpty }
    }

    subscript(name: String) -> String? { values[name] }

    func required(_ name: String) throws(OAuthFailure) -> String {
        guard let value = values[name] else { throw .invalidRequest("\(name) is missing") }
        return value
    }
}

/// What a client gets at the token endpoint.
package enum TokenAnswer: Sendable {
    case tokens(IssuedTokens)
    /// Streamlined linking's `check` has found the account.
    case accountFound

    package struct IssuedTokens: Sendable {
        package let accessToken: String
        /// Seconds.
        package let expiresIn: Int64
        /// Absent where the client keeps the one that it has.
        package let refreshToken: String?
        /// Where it is not what was asked for (RFC 6749 §5.1).
        package let scope: String
    }
}

extension OAuthServer {
    package func authenticate(
        _ authentication: ClientAuthentication, by call: Call
    ) async throws(OAuthFailure) -> OAuthClient {
        try await clients.authenticate(authentication, guesses: signIn.secretGuesses, by: call)
    }

    /// - Parameter client: authenticated.
    package func token(
        _ request: TokenRequest, of client: OAuthClient, by call: Call
    ) async throws(OAuthFailure) -> TokenAnswer {
        switch try request.required("grant_type") {
        case "authorization_code":
            try await metrics.counting(.code) { () throws(OAuthFailure) in
                try await redeem(request, of: client, by: call)
            }
        case "refresh_token":
            try await metrics.counting(.refresh) { () throws(OAuthFailure) in
                try await refresh(request, of: client, by: call)
            }
        case "urn:ietf:params:oauth:grant-type:jwt-bearer":
            try await streamlined(request, of: client, by: call)
        default: throw .unsupportedGrantType
        }
    }

    private func redeem(
        _ request: TokenRequest, of client: OAuthClient, by call: Call
    ) async throws(OAuthFailure) -> TokenAnswer {
        let code = try request.required("code")
        let tokens = try IssuedOAuthTokens()
        let proof = OAuthCodeProof(
            client: client, allowedScopes: client.allowedScopes(of: configuration.scopes),
            redirectURI: request["redirect_uri"],
            challenge: request["code_verifier"].map(Self.challenge(of:)))
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

    /// S256 (RFC 7636 §4.6); of what can't be a verifier, nothing that a challenge is.
    private static func challenge(of verifier: String) -> String {
        guard OAuthAuthorization.isVerifier(verifier) else { return "" }
        return Base64URL.encode(SHA256.hash(Array(verifier.utf8)))
    }

    private func refresh(
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
                : try await grants.refresh(
                    hash, of: client.id, scopes: scopes, within: allowed, accessHash: access.hash,
                    accessExpiresAt: expiresAt, by: call)
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

    /// The parameter `scope`, if it came.
    static func scopes(_ request: TokenRequest) throws(OAuthFailure) -> OAuthScopes? {
        guard let text = request["scope"] else { return nil }
        guard let scopes = OAuthScopes(parameter: text) else { throw .invalidScope }
        return scopes
    }

    func answer(_ access: OAuthSecret, _ refresh: String?, _ scopes: OAuthScopes) -> TokenAnswer {
        .tokens(
            .init(
                accessToken: access.text, expiresIn: configuration.accessLifetime, refreshToken: refresh,
                scope: scopes.description))
    }

}

extension Call {
    /// What a client does: the mails of it are in the language that its request asks for.
    func onBehalf(of client: OAuthClient) -> Call {
        onBehalf(
            of: ChangeOrigin(
                actor: .service, actorName: client.name, requestID: origin.requestID, network: origin.network,
                mailLanguage: origin.mailLanguage))
    }
}
