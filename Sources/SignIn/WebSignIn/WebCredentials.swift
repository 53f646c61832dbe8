import Accounts
import JOSE
import JSON
import Providers
import Storage

/// Verifies what a browser has brought from a provider. Stricter than for an app's SDK: a token that does not verify refuses
/// the whole. Beside a good one whatever the provider says to the code is forgiven, unless it is somebody else's.
struct WebCredentials: Sendable {
    /// Of Apple's `user`.
    private static let maximumUserBytes = 2_048

    let providers: IdentityProviders
    let codes: CodeExchange
    let refusals: RefusalAggregator
    let metrics: SignInMetrics

    /// The issuers of Google's that an authorization response may name: those that are URLs (RFC 9207 §2).
    var googleIssuers: [String] { providers.google?.configuration.issuers.filter { $0.contains("://") } ?? [] }

    /// The nonce as the provider is given it, in the form in which tokens are expected to have it.
    func nonceClaim(for nonce: String, at provider: Provider) throws(SignInFailure) -> String {
        let form: NonceForm? =
            switch provider {
            case .apple: providers.apple?.configuration.nonceForm
            case .google: providers.google?.configuration.nonceForm
            }
        guard let form else { throw .providerDisabled }
        return String(decoding: form.claim(for: nonce), as: UTF8.self)
    }

    /// The person of Apple's answer: by its ID token, its code, or both, which then are of one person.
    func apple(
        _ answer: HeldAnswer, clientID: ProviderClientID, redirectURI: String, _ secrets: WebFlowSecrets, by call: Call
    ) async throws(SignInFailure) -> ProvenPerson {
        try await refusals.notingRejection(of: .apple, by: call) { () throws(SignInFailure) in
            let posted: VerifiedCredential? =
                if let token = answer.idToken {
                    try await verify(token, issuedTo: clientID, nonce: secrets.nonce, at: call.now)
                } else {
                    nil
                }
            let displayName = answer.user.flatMap(Self.name)
            let code = answer.code.map {
                AuthorizationCode(text: $0, clientID: clientID, redirectURI: redirectURI)
            }
            guard let posted else {
                guard let code else { throw .credentialRejected(.malformed, retryAfter: nil) }
                let evidence = try await exchangeAlone(code, of: .apple, secrets, by: call)
                return .identity(evidence.identity, grant: evidence.grant, displayName: displayName)
            }
            var outcome = CodeOutcome.unused
            if let code = code.flatMap({ codes.code($0, of: .apple, nonce: secrets.nonce) }) {
                outcome = try await codes.exchange(code, beside: posted, by: call)
            }
            let evidence = SignInEvidence(posted, outcome)
            if let refusal = evidence.codeRefusal {
                let event = AuditEvent(.codeRejected, by: .provider, in: call, provider: .apple, reason: refusal)
                refusals.note(event, at: call.now)
            }
            return .identity(evidence.identity, grant: evidence.grant, displayName: displayName)
        }
    }

    /// The person of Google's answer, by its code.
    func google(
        _ code: String?, clientID: ProviderClientID, redirectURI: String, _ secrets: WebFlowSecrets, by call: Call
    ) async throws(SignInFailure) -> ProvenPerson {
        try await refusals.notingRejection(of: .google, by: call) { () throws(SignInFailure) in
            guard let code else { throw .credentialRejected(.malformed, retryAfter: nil) }
            let evidence = try await exchangeAlone(
                AuthorizationCode(text: code, clientID: clientID, redirectURI: redirectURI, verifier: secrets.verifier),
                of: .google, secrets, by: call)
            return .identity(evidence.identity, grant: evidence.grant, displayName: nil)
        }
    }

    private func exchangeAlone(
        _ code: AuthorizationCode, of provider: Provider, _ secrets: WebFlowSecrets, by call: Call
    ) async throws(SignInFailure) -> CodeEvidence {
        guard let code = codes.code(code, of: provider, nonce: secrets.nonce) else {
            throw CodeSource.webFlow.unusableCode(of: provider)
        }
        return try await codes.exchangeAlone(code, by: call)
    }

    /// Ends what the code of a person brought whose flow is over, or who could not be kept.
    func abandon(_ person: ProvenPerson, after failure: SignInFailure, by call: Call) async {
        guard case .identity(let identity, let grant, _) = person else { return }
        await codes.abandon(CodeEvidence(identity: identity, grant: grant), after: failure, by: call)
    }

    /// - Parameter clientID: the flow's own: a token for another client of ours is of another sign-in.
    private func verify(
        _ token: String, issuedTo clientID: ProviderClientID, nonce: String, at now: Timestamp
    ) async throws(SignInFailure) -> VerifiedCredential {
        let rules = try providers.rules(of: .apple)
        let start = ContinuousClock.now
        defer { metrics.verified(for: .apple, since: start) }
        do throws(CredentialRefusal) {
            return try await rules.credential(
                Array(token.utf8), nonce: .posted(nonce), expectedClientID: clientID, at: now)
        } catch {
            throw SignInFailure(error)
        }
    }

    /// The name in Apple's `user`, which is unsigned: nothing else of it is used.
    private static func name(_ user: String) -> DisplayName? {
        guard user.utf8.count <= maximumUserBytes, let value = try? JSONValue(parsing: Array(user.utf8)) else {
            return nil
        }
        return DisplayName(
            givenName: value["name"]?["firstName"]?.string, familyName: value["name"]?["lastName"]?.string)
    }
}
