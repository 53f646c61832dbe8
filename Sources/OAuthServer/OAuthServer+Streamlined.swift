import Accounts
import JOSE
import JSON
import Logging
import Providers
import SignIn
import Storage

/// Streamlined linking: Google asks by an assertion, an ID token of the person (sheet account-linking §6).
extension OAuthServer {
    private enum Intent: String {
        case check
        case get
        case create

        var endpoint: OAuthMetrics.Endpoint {
            switch self {
            case .check: .check
            case .get: .get
            case .create: .create
            }
        }
    }

    func streamlined(
        _ request: TokenRequest, of client: OAuthClient, caller: Client
    ) async throws(OAuthFailure) -> TokenAnswer {
        guard let intent = Intent(rawValue: try request.required("intent")) else {
            throw .invalidRequest("intent is unknown")
        }
        return try await metrics.counting(intent.endpoint) { () throws(OAuthFailure) in
            try await streamlined(intent, request, of: client, caller: caller)
        }
    }

    private func streamlined(
        _ intent: Intent, _ request: TokenRequest, of client: OAuthClient, caller: Client
    ) async throws(OAuthFailure) -> TokenAnswer {
        let assertion = try request.required("assertion")
        guard !client.assertionAudiences.isEmpty, google != nil else { throw .unauthorizedClient }
        let allowed = client.allowedScopes(of: configuration.scopes)
        let scopes = try Self.scopes(request) ?? allowed
        guard scopes.isSubset(of: allowed) else { throw .invalidScope }
        let identity = try await person(of: assertion, for: client)
        let hint = identity.email?.address.text
        let standing = try await clientCall { () throws(SignInFailure) in
            try await signIn.assertions.standing(of: identity)
        }
        switch (intent, standing) {
        case (.check, .linked), (.check, .linkable): return .accountFound
        case (.check, _): throw .accountNotFound
        case (.get, .linked(let account)):
            return try await issue(to: client, scopes, for: account, caller, hint: hint)
        case (.get, .linkable):
            let linked = try await clientCall { () throws(SignInFailure) in
                try await signIn.assertions.link(identity, client: caller)
            }
            guard let linked else { throw .linkingError(loginHint: hint) }
            return try await issue(to: client, scopes, for: linked, caller, hint: hint)
        case (.create, .unknown(isFree: true)) where client.createsAccounts:
            let (tokens, link) = try newLink(to: client, scopes, caller, at: clock.now())
            let isCreated = try await clientCall { () throws(SignInFailure) in
                try await signIn.assertions.create(identity, linked: link, client: caller)
            }
            guard isCreated else { throw .linkingError(loginHint: hint) }
            return answer(tokens.access, tokens.refresh.text, scopes)
        default: throw .linkingError(loginHint: hint)
        }
    }

    private func issue(
        to client: OAuthClient, _ scopes: OAuthScopes, for account: AccountID, _ caller: Client, hint: String?
    ) async throws(OAuthFailure) -> TokenAnswer {
        let now = clock.now()
        let (tokens, link) = try newLink(to: client, scopes, caller, at: now)
        let isIssued = try await stored { try await grants.issue(link, for: account, at: now) }
        guard isIssued else { throw .linkingError(loginHint: hint) }
        return answer(tokens.access, tokens.refresh.text, scopes)
    }

    private func newLink(
        to client: OAuthClient, _ scopes: OAuthScopes, _ caller: Client, at now: Timestamp
    ) throws(OAuthFailure) -> (IssuedOAuthTokens, NewOAuthLink) {
        let tokens = try IssuedOAuthTokens()
        let new = tokens.stored(accessExpiresAt: now.advanced(bySeconds: configuration.accessLifetime))
        return (
            tokens, NewOAuthLink(client: client, scopes: scopes, tokens: new, origin: origin(of: client, caller))
        )
    }

    /// The person of an assertion, by Google's rules for ID tokens; addressed to Google's own client.
    private func person(
        of assertion: String, for client: OAuthClient
    ) async throws(OAuthFailure) -> VerifiedIdentity {
        guard let google else { throw .unauthorizedClient }
        var rules = google.configuration
        rules.clientIDs = client.assertionAudiences
        rules.authorizedParties = []
        let provider = GoogleProvider(configuration: rules, keys: google.keys)
        do throws(CredentialRefusal) {
            return try await provider.credential(
                Array(assertion.utf8), nonce: .proven, expectedClientID: nil, at: clock.now()
            ).identity
        } catch {
            if error.reason == .keysUnavailable {
                throw .unavailable(retryAfter: error.retryAfter ?? 60, detail: "keys_unavailable")
            }
            logger.info(
                "assertion refused", metadata: ["clientId": "\(client.id)", "reason": "\(error.reason.rawValue)"])
            throw .invalidGrant
        }
    }
}
