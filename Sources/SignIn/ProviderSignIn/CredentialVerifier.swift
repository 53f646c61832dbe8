import Accounts
import JOSE
import Logging
import Primitives
import Providers
import Storage

/// The content of a credential that was accepted.
struct SignInEvidence {
    let identity: VerifiedIdentity
    let grant: NewGrant?
    /// The provider's error code, when it refused the code that came beside a verified token, or why its answer is not believed.
    let codeRefusal: String?

    /// - Parameter code: what came of the code beside the verified token.
    init(_ posted: VerifiedCredential, _ code: CodeOutcome) {
        switch code {
        case .exchanged(let code):
            (identity, grant, codeRefusal) = (posted.identity.completed(by: code.identity), code.grant, nil)
        case .refused(let error): (identity, grant, codeRefusal) = (posted.identity, nil, error)
        case .unused: (identity, grant, codeRefusal) = (posted.identity, nil, nil)
        }
    }

    /// The evidence of a code on its own.
    init(_ code: CodeEvidence) { (identity, grant, codeRefusal) = (code.identity, code.grant, nil) }
}

/// Verifies what a provider's SDK gave the app: the token, the nonce, and the code by exchanging it.
final class CredentialVerifier: Sendable {
    let providers: IdentityProviders
    let nonces: SignInNonces
    /// The addresses at which Apple's answer is handed on to whichever app claims the scheme.
    let relayRedirectURIs: [String]
    let codes: CodeExchange
    let refusals: RefusalAggregator
    let repetitions: RepeatedEvents
    let audit: AuditTrail
    let metrics: SignInMetrics
    let logger: Logger

    init(
        providers: IdentityProviders, nonces: SignInNonces, relayRedirectURIs: [String], codes: CodeExchange,
        refusals: RefusalAggregator, repetitions: RepeatedEvents, audit: AuditTrail, metrics: SignInMetrics,
        logger: Logger
    ) {
        self.providers = providers
        self.nonces = nonces
        self.relayRedirectURIs = relayRedirectURIs
        self.codes = codes
        self.refusals = refusals
        self.repetitions = repetitions
        self.audit = audit
        self.metrics = metrics
        self.logger = logger
    }

    /// The verified person, by the token or by the exchanged code: either one suffices.
    ///
    /// Only a verified credential spends a nonce: a forged token must not use up another person's. The nonce is spent
    /// before a code is exchanged, where possible: of two sign-ins with one nonce, the one that loses must not use up the
    /// code.
    func evidence(
        of credential: ProviderCredential, from provider: Provider, by call: Call
    ) async throws(SignInFailure) -> SignInEvidence {
        try await refusals.notingRejection(of: provider, by: call) { () throws(SignInFailure) in
            try requireNonce(ofRelayed: credential)
            switch try await verify(credential, of: provider, at: call.now) {
            case .success(let posted?):
                // A fault in what was posted costs no nonce.
                let code = try codes.code(of: credential, from: provider, besideTokenOf: posted.identity.clientID)
                if let nonce = try nonces.nonceToSpend(
                    credential.nonce, or: posted.identity.nonce, for: provider, by: call)
                {
                    try await nonces.spend(nonce, by: call)
                }
                guard let code else { return SignInEvidence(posted, .unused) }
                return SignInEvidence(posted, try await codes.exchange(code, beside: posted, by: call))
            case .success(nil):
                return SignInEvidence(try await codeEvidence(of: credential, from: provider, by: call))
            case .failure(let refusal):
                // A nonce says that token and code are of another sign-in than this one.
                guard credential.code != nil, !refusal.reason.isAboutNonce else { throw SignInFailure(refusal) }
                return SignInEvidence(
                    try await codeEvidence(of: credential, from: provider, insteadOf: refusal, by: call))
            }
        }
    }

    /// Another app may have got what was handed on. It lacks the raw nonce, of which Apple has seen the hash alone.
    private func requireNonce(ofRelayed credential: ProviderCredential) throws(SignInFailure) {
        guard credential.nonce == nil, let redirectURI = credential.redirectURI,
            relayRedirectURIs.contains(where: { $0.hasSameBytes(as: redirectURI) })
        else { return }
        throw .credentialRejected(.nonceMissing, retryAfter: nil)
    }

    /// - Returns: `nil` when no token was posted.
    private func verify(
        _ credential: ProviderCredential, of provider: Provider, at now: Timestamp
    ) async throws(SignInFailure) -> Result<VerifiedCredential?, CredentialRefusal> {
        let rules = try providers.rules(of: provider)
        guard let token = credential.token else { return .success(nil) }
        let start = ContinuousClock.now
        defer { metrics.verified(for: provider, since: start) }
        do throws(CredentialRefusal) {
            return .success(
                try await rules.credential(
                    Array(token.utf8), postedNonce: credential.nonce, expectedClientID: credential.clientID, at: now))
        } catch {
            return .failure(error)
        }
    }

    /// The person of a code on its own, by the identity token that it is exchanged for. The nonce is that token's.
    private func codeEvidence(
        of credential: ProviderCredential, from provider: Provider, by call: Call
    ) async throws(SignInFailure) -> CodeEvidence {
        // A code can be exchanged only once: not beside a nonce that is already spent.
        if let nonce = try nonces.nonceToSpend(credential.nonce, for: provider, by: call) {
            try await nonces.requireUnspent(nonce)
        }
        guard let code = try codes.code(of: credential, from: provider, besideTokenOf: nil) else {
            throw CodeSource.app.unusableCode(of: provider)
        }
        let evidence = try await codes.exchangeAlone(code, by: call)
        do throws(SignInFailure) {
            if let nonce = try nonces.nonceToSpend(
                credential.nonce, or: evidence.identity.nonce, for: provider, by: call)
            {
                try await nonces.spend(nonce, by: call)
            }
        } catch {
            await codes.abandon(evidence, after: error, by: call)
            throw error
        }
        return evidence
    }

    /// The same beside a token that did not verify, of which nothing is used. Where the code is refused too, the failure is
    /// the token's; the audit trail has the reasons of both.
    private func codeEvidence(
        of credential: ProviderCredential, from provider: Provider, insteadOf token: CredentialRefusal, by call: Call
    ) async throws(SignInFailure) -> CodeEvidence {
        func note(_ reason: TokenRejection) {
            refusals.note(.credentialRejected, provider: provider, reason: reason.rawValue, by: call)
        }
        logger.info(
            "token refused, code tried instead",
            metadata: ["provider": "\(provider.rawValue)", "reason": "\(token.reason.rawValue)"])
        do throws(SignInFailure) {
            let evidence = try await codeEvidence(of: credential, from: provider, by: call)
            note(token.reason)
            return evidence
        } catch {
            switch error {
            case .credentialRejected(let reason, _):
                note(reason)
                // Missing keys are no rejection, so the caller does not note them.
                if token.reason == .keysUnavailable { note(token.reason) }
                throw SignInFailure(token)
            case .missingCredential:
                // No client of ours can use the code.
                throw SignInFailure(token)
            default:
                note(token.reason)
                throw error
            }
        }
    }

    /// Records in the audit trail that the provider refused the code beside a good token.
    ///
    /// - Parameter key: the person of the token.
    func record(
        _ codeRefusal: String?, of key: IdentityKey, linked: (account: AccountID, identity: IdentityID)?, by call: Call
    ) async {
        guard let codeRefusal else { return }
        let event = AuditEvent(
            .codeRejected, by: .provider, in: call, accountID: linked?.account, identityID: linked?.identity,
            provider: key.provider, reason: codeRefusal)
        do throws(SignInFailure) {
            try await repetitions.recording(.refusedCode(key), by: call) { isRecorded throws(SignInFailure) in
                if isRecorded { try await stored { try await audit.record(event, by: call) } }
                return ((), event)
            }
        } catch {
            // The sign-in succeeds without the record.
            logger.warning("refused code not recorded", metadata: ["error": "\(String(reflecting: error))"])
        }
    }
}

extension SignInFailure {
    /// The failure of a sign-in whose token is refused.
    init(_ refusal: CredentialRefusal) {
        self =
            refusal.reason == .keysUnavailable
            ? .providerUnavailable(retryAfter: refusal.retryAfter ?? 5, reason: refusal.reason.rawValue)
            : .credentialRejected(refusal.reason, retryAfter: refusal.retryAfter)
    }
}

extension TokenRejection {
    /// Whether the credential is of another sign-in than the one it was posted for.
    fileprivate var isAboutNonce: Bool {
        switch self {
        case .nonceMissing, .nonceMismatch, .nonceSpent: true
        default: false
        }
    }
}
