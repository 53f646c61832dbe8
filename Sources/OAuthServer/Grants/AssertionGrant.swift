import Accounts
import JOSE
import Logging
import Providers
import SignIn
import Storage

/// Streamlined linking: Google asks by an assertion, an ID token of the person (docs/account-linking.md, "Three ways
/// to a link").
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
        _ request: TokenRequest, of client: OAuthClient, by call: Call
    ) async throws(OAuthFailure) -> TokenAnswer {
        guard let intent = Intent(rawValue: try request.required("intent")) else {
            throw .invalidRequest("intent is unknown")
        }
        return try await metrics.counting(intent.endpoint) { () throws(OAuthFailure) in
            try await streamlined(intent, request, of: client, by: call)
        }
    }

    private func streamlined(
        _ intent: Intent, _ request: TokenRequest, of client: OAuthClient, by call: Call
    ) async throws(OAuthFailure) -> TokenAnswer {
        let assertion = try request.required("assertion")
        guard !client.assertionAudiences.isEmpty, google != nil else { throw .unauthorizedClient }
        let allowed = client.allowedScopes(of: configuration.scopes)
        let scopes = try Self.scopes(request) ?? allowed
        guard !scopes.isEmpty, scopes.isSubset(of: allowed) else { throw .invalidScope }
        let (identity, isAdmitted) = try await person(of: assertion, for: client, by: call)
        let hint = identity.email?.address.text
        var standing = AssertionLinking.Standing.refused
        if isAdmitted {
            standing = try await clientCall { () throws(SignInFailure) in
                try await signIn.assertions.standing(of: identity, by: call)
            }
        }
        switch (intent, standing) {
        case (.check, .linked), (.check, .linkable): return .accountFound
        case (.check, _): throw .accountNotFound
        case (.get, .linked(let account)):
            try await countLink(of: account, by: call)
            return try await issue(to: client, scopes, for: account, assertedBy: identity, by: call, hint: hint)
        case (.get, .linkable(let holder)):
            try await countLink(of: holder, by: call)
            let linked = try await clientCall { () throws(SignInFailure) in
                try await signIn.assertions.link(identity, by: call)
            }
            guard let linked else { throw .linkingError(loginHint: hint) }
            return try await issue(to: client, scopes, for: linked, assertedBy: identity, by: call, hint: hint)
        case (.create, .unknown(isFree: true)) where client.createsAccounts:
            let (tokens, link) = try newLink(to: client, scopes, by: call)
            let isCreated = try await clientCall { () throws(SignInFailure) in
                try await signIn.assertions.create(identity, linked: link, by: call)
            }
            guard isCreated else { throw .linkingError(loginHint: hint) }
            return answer(tokens.access, tokens.refresh.text, scopes)
        default: throw .linkingError(loginHint: hint)
        }
    }

    private func issue(
        to client: OAuthClient, _ scopes: OAuthScopes, for account: AccountID, assertedBy identity: VerifiedIdentity,
        by call: Call, hint: String?
    ) async throws(OAuthFailure) -> TokenAnswer {
        let (tokens, link) = try newLink(to: client, scopes, by: call)
        do {
            try await grants.issue(link, for: account, assertedBy: identity, by: call)
        } catch is Refusal {
            throw .linkingError(loginHint: hint)
        } catch {
            throw OAuthFailure(SignInFailure(stored: error))
        }
        return answer(tokens.access, tokens.refresh.text, scopes)
    }

    private func newLink(
        to client: OAuthClient, _ scopes: OAuthScopes, by call: Call
    ) throws(OAuthFailure) -> (IssuedOAuthTokens, NewOAuthLink) {
        let tokens = try IssuedOAuthTokens()
        let new = tokens.stored(accessExpiresAt: call.now.advanced(bySeconds: configuration.accessLifetime))
        return (
            tokens, NewOAuthLink(client: client, scopes: scopes, tokens: new, origin: call.onBehalf(of: client).origin)
        )
    }

    /// The person of an assertion, by Google's rules for ID tokens; addressed to Google's own client.
    ///
    /// - Returns: besides, whether their domain may sign in. The assertion is a good one in any case: its person goes on in the
    ///   browser, where they may have another way into their account.
    private func person(
        of assertion: String, for client: OAuthClient, by call: Call
    ) async throws(OAuthFailure) -> (VerifiedIdentity, isAdmitted: Bool) {
        guard let google else { throw .unauthorizedClient }
        var rules = google.configuration
        rules.clientIDs = client.assertionAudiences.map { ProviderClientID($0) }
        rules.authorizedParties = []
        rules.hostedDomains = []
        let provider = GoogleProvider(configuration: rules, keys: google.keys)
        do throws(CredentialRefusal) {
            let credential = try await provider.credential(
                Array(assertion.utf8), nonce: .proven, expectedClientID: nil, at: call.now)
            let identity = credential.identity
            // OpenID Connect Core 1.0 §2
            guard identity.key.subject.text.utf8.allSatisfy({ $0 < 0x80 }) else {
                throw CredentialRefusal(.claimInvalid)
            }
            return (identity, isAdmitted: google.admits(credential))
        } catch {
            // Without the keys nothing is known of it: of a key that is new, neither, while they may not be fetched again.
            if error.reason == .keysUnavailable || error.retryAfter != nil {
                throw .unavailable(retryAfter: error.retryAfter ?? 60, detail: error.reason.rawValue)
            }
            logger.info(
                "assertion refused", metadata: ["clientId": "\(client.id)", "reason": "\(error.reason.rawValue)"])
            throw .invalidGrant
        }
    }
}
