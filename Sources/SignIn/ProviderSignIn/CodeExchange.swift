import Accounts
import JOSE
import Logging
import Primitives
import Providers
import Storage

/// The outcome of a code that was posted beside a token, or alone.
enum CodeOutcome {
    case notPosted
    /// The provider vouches for the person, and may have given a refresh token.
    case exchanged(ExchangedCode, NewGrant?)
    /// It is unknown whether the code was good; it is not sent again.
    case unanswered
    /// The provider refused the code: its error code.
    case refused(String)
}

/// The outcome of a code exchange, for the metrics.
enum ExchangeOutcome: String, CaseIterable {
    case exchanged
    case refused
    case clientRejected = "client_rejected"
    case unavailable
    case tokenRejected = "token_rejected"
}

/// The time that a sign-in waits for the exchange of a code.
package struct CodeExchangeTimeout: Sendable {
    /// The timeout of a code beside a good token, which suffices to sign in.
    package var besideToken: Duration = .seconds(2)
    /// The part of ``besideToken`` that pending revocations, which go first, may take.
    package var forRevocations: Duration = .seconds(1)
    /// The timeout of a code without a token.
    package var alone: Duration = .seconds(10)

    package init() {}
}

/// The exchange of codes at the providers. A code is sent once, whatever the outcome.
extension SignInService {
    /// - Parameter posted: the verified token beside the code.
    func exchange(
        _ credential: ProviderCredential, of provider: Provider, beside posted: VerifiedCredential?,
        at now: Timestamp
    ) async throws(SignInFailure) -> CodeOutcome {
        guard let text = credential.code else { return .notPosted }
        guard let code = try authorizationCode(text, credential, of: provider, beside: posted),
            let endpoint = endpoints[provider]
        else { return try notConfigured(provider, beside: posted) }
        let deadline =
            ContinuousClock.now
            + (posted == nil ? configuration.codeExchangeTimeout.alone : configuration.codeExchangeTimeout.besideToken)
        if let posted {
            do {
                try posted.checkHash(ofCode: text)
            } catch {
                throw .credentialRejected(error.reason, retryAfter: nil)
            }
            try await settleRevocations(of: posted.identity.key)
        }
        // Before it is sent: an event that ends the person's authorization after this moment may end the new grant too.
        let sentAt = clock.now()
        // At least a second is left, however busy the database was.
        let timeout = max(.seconds(1), ContinuousClock.now.duration(to: deadline))
        let nonce: NonceExpectation = posted == nil ? .posted(credential.nonce) : .proven
        let start = ContinuousClock.now
        let answer: Result<ExchangedCode, EndpointRefusal>? = await withTimeout(timeout) {
            do throws(EndpointRefusal) {
                return .success(try await endpoint.exchange(code, nonce: nonce, timeout: timeout, at: now))
            } catch {
                return .failure(error)
            }
        }
        metrics.exchanged(for: provider, since: start)
        do {
            let exchanged = try (answer ?? .failure(.unavailable(detail: "timed_out"))).get()
            exchanges.count(provider, .exchanged)
            if let posted, posted.identity.key != exchanged.identity.key {
                throw SignInFailure.credentialRejected(.subjectMismatch, retryAfter: nil)
            }
            return .exchanged(exchanged, grant(of: exchanged, for: code, provider: provider, at: sentAt))
        } catch let refusal as EndpointRefusal {
            return try outcome(of: refusal, of: provider, credential, beside: posted)
        } catch let failure as SignInFailure {
            throw failure
        } catch {
            throw .fault(operation: "exchange")
        }
    }

    /// The code with the client that it belongs to; `nil` when no configured client can use codes.
    private func authorizationCode(
        _ text: String, _ credential: ProviderCredential, of provider: Provider, beside posted: VerifiedCredential?
    ) throws(SignInFailure) -> AuthorizationCode? {
        switch provider {
        case .google:
            guard let endpoint = endpoints.google else { return nil }
            if posted == nil, let clientID = credential.clientID, !clientID.utf8.elementsEqual(endpoint.clientID.utf8) {
                throw .credentialRejected(.clientRejected, retryAfter: nil)
            }
            return AuthorizationCode(text: text, clientID: endpoint.clientID)
        case .apple:
            if let redirectURI = credential.redirectURI,
                !configuration.redirectURIs.contains(where: { $0.utf8.elementsEqual(redirectURI.utf8) })
            {
                throw .redirectURIRefused
            }
            let clientIDs = apple?.configuration.teams.flatMap(\.clientIDs) ?? []
            guard let clientID = posted?.identity.clientID ?? credential.clientID ?? clientIDs.first else { return nil }
            guard posted != nil || credential.clientID != nil || clientIDs.count == 1 else { throw .clientIDRequired }
            guard clientIDs.contains(where: { $0.utf8.elementsEqual(clientID.utf8) }) else {
                throw .credentialRejected(.clientRejected, retryAfter: nil)
            }
            return AuthorizationCode(text: text, clientID: clientID, redirectURI: credential.redirectURI)
        }
    }

    private func notConfigured(
        _ provider: Provider, beside posted: VerifiedCredential?
    ) throws(SignInFailure) -> CodeOutcome {
        guard posted == nil else { return .notPosted }
        throw .missingCredential(ProviderCredential.tokenMember(of: provider))
    }

    /// Attempts the person's pending revocations first: sent later, they would end the new authorization. If the exchange
    /// does precede one, its grant is checked after the revocation.
    private func settleRevocations(of key: IdentityKey) async throws(SignInFailure) {
        guard try await stored({ try await stores.revocations.isPending(of: key) }) else { return }
        _ = await withTimeout(configuration.codeExchangeTimeout.forRevocations) { await revocations.settle(key) }
    }

    private func grant(
        of exchanged: ExchangedCode, for code: AuthorizationCode, provider: Provider, at now: Timestamp
    ) -> NewGrant? {
        exchanged.refreshToken.map { token in
            // Spread over the day from the start, however close together people signed up.
            let checkAt: Timestamp? =
                provider == .apple
                ? now.advanced(bySeconds: GrantCheckWorker.interval + .random(in: 0..<GrantCheckWorker.interval)) : nil
            return NewGrant(clientID: code.clientID, refreshToken: token, exchangedAt: now, checkAt: checkAt)
        }
    }

    private func outcome(
        of refusal: EndpointRefusal, of provider: Provider, _ credential: ProviderCredential,
        beside posted: VerifiedCredential?
    ) throws(SignInFailure) -> CodeOutcome {
        var metadata: Logger.Metadata = ["provider": "\(provider.rawValue)"]
        switch refusal {
        case .grantRejected(let error), .requestRejected(let error):
            exchanges.count(provider, .refused)
            guard posted != nil else { throw .credentialRejected(.codeRejected, retryAfter: nil) }
            return .refused(error)
        case .clientRejected(let error, let keyID):
            exchanges.count(provider, .clientRejected)
            metadata["error"] = "\(error)"
            metadata["key"] = "\(keyID)"
            if credential.redirectURI == nil {
                logger.error("client credentials refused by the provider, check the key", metadata: metadata)
            } else {
                // Apple answers the same to a redirect URI that is not the code's, and the client has posted that one.
                logger.warning("client credentials or redirectUri refused by the provider", metadata: metadata)
            }
            // Also beside a good token: an authorization that is accepted now could never be revoked.
            throw .providerUnavailable(retryAfter: 60, reason: "client_credentials_rejected")
        case .unavailable(let detail):
            exchanges.count(provider, .unavailable)
            metadata["error"] = "\(detail)"
            logger.warning("code not exchanged", metadata: metadata)
            guard posted != nil else { throw .providerUnavailable(retryAfter: 5, reason: detail) }
            return .unanswered
        case .notConfigured:
            return try notConfigured(provider, beside: posted)
        case .credentialRejected(let refusal):
            exchanges.count(provider, .tokenRejected)
            throw .credentialRejected(refusal.reason, retryAfter: refusal.retryAfter)
        }
    }
}
