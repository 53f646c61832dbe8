import Accounts
import JOSE
import Logging
import Primitives
import Providers
import Storage

/// The person for whom a provider exchanged a code, and what it gave for them.
struct CodeEvidence {
    let identity: VerifiedIdentity
    let grant: NewGrant?
}

/// The outcome of a code beside a verified token.
enum CodeOutcome {
    case exchanged(CodeEvidence)
    /// The provider refused the code: its error code; or answered with a token that is not believed: why not.
    case refused(String)
    /// It brought nothing: there was no code, no client of ours can use it, or it is unknown whether it was good. It is not
    /// sent again.
    case unused
}

/// The time that a sign-in waits for the exchange of a code.
package struct CodeExchangeTimeout: Sendable {
    /// The timeout of a code beside a verified token, which suffices to sign in.
    package var besideToken: Duration = .seconds(2)
    /// The part of ``besideToken`` that pending revocations, which go first, may take.
    package var forRevocations: Duration = .seconds(1)
    /// The timeout of a code on its own.
    package var alone: Duration = .seconds(10)

    package init() {}
}

/// The exchange of codes at the providers. A code is sent once, whatever the outcome.
struct CodeExchange: Sendable {
    let providers: IdentityProviders
    let endpoints: TokenEndpoints
    /// The redirect URIs that Apple's codes for web and Android may have been sent to.
    let redirectURIs: [String]
    let timeout: CodeExchangeTimeout
    /// The revocations that go before a code, and those of what a refused exchange leaves.
    let revocations: RevocationStore
    let revocationWorker: RevocationWorker
    let strayGrants: StrayGrants
    let underWay: CodesUnderWay
    let limits: RateLimiter
    let metrics: SignInMetrics
    let clock: any WallClock
    let logger: Logger
    private let outcomes = OutcomeCounters<Provider, ExchangeOutcome>(
        label: "countersign_code_exchanges_total", by: "provider")
    private let refusedCredentials = RefusedCredentials()

    /// Exchanges a code beside a verified token, which signs in whatever becomes of the code, unless the code is
    /// another person's.
    func exchange(
        _ code: PostedCode, beside posted: VerifiedCredential, by call: Call
    ) async throws(SignInFailure) -> CodeOutcome {
        let deadline = ContinuousClock.now + timeout.besideToken
        do {
            try posted.checkHash(ofCode: code.text)
        } catch {
            throw .credentialRejected(error.reason, retryAfter: nil)
        }
        let answer = try await sendBeside(posted.identity.key, code, until: deadline, by: call)
        switch answer {
        case .success(let evidence):
            guard evidence.identity.key == posted.identity.key else {
                await abandon(evidence, because: .subjectMismatch, by: call)
                throw .credentialRejected(.subjectMismatch, retryAfter: nil)
            }
            return .exchanged(evidence)
        case .failure(.grantRejected(let error)), .failure(.requestRejected(let error)):
            return .refused(error)
        // Of the provider's answer to an app's code nothing is used then. Where a hash in it is another's, the code and the
        // tokens that came for it are not of one sign-in; and a web flow has one answer, whose parts stand together.
        case .failure(.credentialRejected(let refusal, _))
        where code.source == .app && refusal.reason != .hashMismatch:
            return .refused(refusal.reason.rawValue)
        case .failure(.credentialRejected(let refusal, _)):
            throw .credentialRejected(refusal.reason, retryAfter: refusal.retryAfter)
        // Also when the provider refuses our key: that says nothing about the person.
        case .failure(.clientRejected), .failure(.unavailable), .failure(.notConfigured), nil:
            return .unused
        }
    }

    /// Exchanges a code that no verified token vouches for.
    ///
    /// Any client can post an app's, and the provider throttles by our client: so rejected ones are limited by the sender's
    /// network, and few are under way at a time. A code is counted before it is sent, so that concurrent ones are counted
    /// too; only one that the provider may have refused for itself stays counted. Those of web flows are not: each
    /// flow is, and each proof of a ticket in one.
    func exchangeAlone(_ code: PostedCode, by call: Call) async throws(SignInFailure) -> CodeEvidence {
        let deadline = ContinuousClock.now + timeout.alone
        let answer = try await underWay.admit(at: code.provider, beside: nil, by: call) { () throws(SignInFailure) in
            let isCounted = code.source == .app
            if isCounted { try await limits.drawNetworks(.junkCodesPerNetwork, by: call) }
            let answer = await send(code, until: deadline, by: call)
            if isCounted, !answer.mayBeJunk(withRedirectURI: code.redirectURI) {
                await limits.putBackNetworks(.junkCodesPerNetwork, by: call)
            }
            return answer
        }
        switch answer {
        case .success(let evidence):
            return evidence
        case .failure(.grantRejected), .failure(.requestRejected):
            throw .credentialRejected(.codeRejected, retryAfter: nil)
        case .failure(.credentialRejected(let refusal, _)):
            throw .credentialRejected(refusal.reason, retryAfter: refusal.retryAfter)
        case .failure(.clientRejected):
            throw .providerUnavailable(retryAfter: 60, reason: "client_credentials_rejected")
        case .failure(.unavailable(let detail)):
            throw .providerUnavailable(retryAfter: 5, reason: detail)
        case .failure(.notConfigured):
            throw code.source.unusableCode(of: code.provider)
        case nil:
            outcomes.count(code.provider, .notSent)
            // Nothing was sent, so the same code may come again.
            throw .overloaded(retryAfter: 1)
        }
    }

    /// Revokes the authorization of a code whose sign-in is refused: it has no use here.
    func abandon(_ evidence: CodeEvidence, because reason: TokenRejection, by call: Call) async {
        guard let grant = evidence.grant else { return }
        await end(grant, of: evidence.identity.key, because: reason, by: call)
    }

    /// Ends the authorization of a code after a failure behind its exchange. When the database took nothing, this request
    /// has waited for it already: the grant is ended when the database is back.
    func abandon(_ evidence: CodeEvidence, after failure: SignInFailure, by call: Call) async {
        guard let grant = evidence.grant else { return }
        switch failure {
        case .storageUnavailable, .fault:
            strayGrants.keep(
                grant, of: evidence.identity.key, isAttachable: true,
                recording: Self.ending(because: "not_stored", by: call))
        case .credentialRejected(let reason, _):
            await end(grant, of: evidence.identity.key, because: reason, by: call)
        default:
            await end(grant, of: evidence.identity.key, because: .expired, by: call)
        }
    }

    private func end(_ grant: NewGrant, of key: IdentityKey, because reason: TokenRejection, by call: Call) async {
        let event = Self.ending(because: reason.rawValue, by: call)
        do {
            try await revocations.end(grant, of: key, isAttachable: false, recording: event, by: call)
        } catch {
            // The sign-in is refused all the same: its code is spent, so to repeat it would bring nothing.
            strayGrants.keep(grant, of: key, isAttachable: false, recording: event)
        }
    }

    private static func ending(because reason: String, by call: Call) -> AuditEvent {
        AuditEvent(.revocationRequested, by: .service, in: call, reason: reason)
    }
}

// MARK: - What is sent

/// Who asked the provider for a code.
enum CodeSource {
    /// An app, by the provider's SDK.
    case app
    case webFlow

    /// The failure where a code on its own is of no use, because no client of ours can exchange it.
    func unusableCode(of provider: Provider) -> SignInFailure {
        switch self {
        case .app: .missingCredential(ProviderCredential.tokenMember(of: provider))
        case .webFlow: .providerUnavailable(retryAfter: 60, reason: "not_configured")
        }
    }
}

/// A posted code, and where it is exchanged.
struct PostedCode {
    let provider: Provider
    let source: CodeSource
    let code: AuthorizationCode
    /// Of the identity token that it is exchanged for.
    let nonce: NonceExpectation
    let endpoint: any TokenEndpoint

    var text: String { code.text }
    var redirectURI: String? { code.redirectURI }
}

extension CodeExchange {
    /// The code of a web flow, whose client, redirect URI and nonce are the flow's; `nil` when no configured client can use
    /// codes.
    func code(_ code: AuthorizationCode, of provider: Provider, nonce: String) -> PostedCode? {
        endpoints[provider].map { endpoint in
            PostedCode(provider: provider, source: .webFlow, code: code, nonce: .posted(nonce), endpoint: endpoint)
        }
    }

    /// The code that an app posted, with the client that it belongs to; `nil` when there is none, or no configured client can
    /// use codes.
    ///
    /// - Parameter tokenClient: the client of the verified token beside it, which has proven the nonce. One that did not verify
    ///   says no more than a posted `clientId` does, and where there is none: the exchange proves whose the code is.
    func code(
        of credential: ProviderCredential, from provider: Provider, besideTokenOf tokenClient: ProviderClientID?
    ) throws(SignInFailure) -> PostedCode? {
        guard let text = credential.code else { return nil }
        func posted(_ clientID: ProviderClientID, at endpoint: any TokenEndpoint) -> PostedCode {
            PostedCode(
                provider: provider, source: .app,
                code: AuthorizationCode(text: text, clientID: clientID, redirectURI: credential.redirectURI),
                nonce: tokenClient == nil ? .posted(credential.nonce) : .proven, endpoint: endpoint)
        }
        switch provider {
        case .google:
            guard let endpoint = endpoints.google,
                let clientID = try serverClient(of: credential, besideTokenOf: tokenClient, at: endpoint)
            else { return nil }
            return posted(clientID, at: endpoint)
        case .apple:
            if let redirectURI = credential.redirectURI,
                !redirectURIs.contains(where: { $0.hasSameBytes(as: redirectURI) })
            {
                throw .redirectURIRefused
            }
            let clientIDs = providers.apple?.configuration.teams.flatMap(\.clientIDs) ?? []
            guard let only = clientIDs.first else { return nil }
            guard
                let clientID = tokenClient ?? credential.clientID
                    ?? (clientIDs.count == 1 ? only : credential.statedClient(of: clientIDs))
            else { throw .clientIDRequired }
            guard clientIDs.contains(clientID) else {
                throw .credentialRejected(.clientRejected, retryAfter: nil)
            }
            guard let endpoint = endpoints.apple else { return nil }
            return posted(clientID, at: endpoint)
        }
    }

    /// The server client that Google's code belongs to, that of the project which the token's audience chooses; `nil` when
    /// no configured one can have it.
    private func serverClient(
        of credential: ProviderCredential, besideTokenOf tokenClient: ProviderClientID?,
        at endpoint: GoogleTokenEndpoint
    ) throws(SignInFailure) -> ProviderClientID? {
        if let tokenClient { return endpoint.serverClientID(ofProjectOf: tokenClient) }
        let servers = endpoint.serverClientIDs
        // Beside a token, `clientId` is the token's: an app's, perhaps.
        if credential.token == nil, let clientID = credential.clientID {
            guard servers.contains(clientID) else {
                throw .credentialRejected(.clientRejected, retryAfter: nil)
            }
            return clientID
        }
        guard servers.count > 1 else { return servers.first }
        let clientIDs = providers.google?.configuration.clientIDs ?? []
        guard let clientID = credential.clientID ?? credential.statedClient(of: clientIDs) else {
            throw .clientIDRequired
        }
        return endpoint.serverClientID(ofProjectOf: clientID)
    }

    /// Attempts the person's pending revocations first: sent later, they would end the new authorization. If the exchange
    /// does precede one, its grant is checked after the revocation.
    private func settleRevocations(of key: IdentityKey) async throws(SignInFailure) {
        guard try await stored({ try await revocations.isPending(of: key) }) else { return }
        _ = await withTimeout(timeout.forRevocations) { await revocationWorker.settle(key) }
    }

    /// Sends a code beside the verified token of this person, which signs in without it.
    ///
    /// A token of one's own is good for an hour or a day, and each post of it can bring another made-up code: so the codes
    /// that were refused beside a person's tokens are counted, before they are sent as those on their own are.
    ///
    /// - Returns: `nil` when the code was not sent: the person's last ones were refused, or there is no place.
    private func sendBeside(
        _ key: IdentityKey, _ posted: PostedCode, until deadline: ContinuousClock.Instant, by call: Call
    ) async throws(SignInFailure) -> Result<CodeEvidence, EndpointRefusal>? {
        let person = RateLimiter.Subject.everybody("\(key.provider.rawValue) \(key.realm) \(key.subject.text)")
        let answer = try await underWay.admit(at: posted.provider, beside: key, by: call) {
            () throws(SignInFailure) -> Result<CodeEvidence, EndpointRefusal>? in
            guard try await limits.wait(.refusedCodesPerIdentity, of: person) == nil else {
                limits.noteUsedUp(.refusedCodesPerIdentity)
                return nil
            }
            do throws(SignInFailure) {
                try await settleRevocations(of: key)
            } catch {
                await limits.putBack(.refusedCodesPerIdentity, of: person)
                throw error
            }
            let answer = await send(posted, until: deadline, by: call)
            if !answer.mayBeJunk(withRedirectURI: posted.redirectURI) {
                await limits.putBack(.refusedCodesPerIdentity, of: person)
            }
            return answer
        }
        if answer == nil { outcomes.count(posted.provider, .notSent) }
        return answer ?? nil
    }

    /// Sends the code and waits for the answer. What a refused answer leaves at the provider is ended.
    private func send(
        _ posted: PostedCode, until deadline: ContinuousClock.Instant, by call: Call
    ) async -> Result<CodeEvidence, EndpointRefusal> {
        let (code, endpoint) = (posted.code, posted.endpoint)
        // Before it is sent: an event that ends the person's authorization after this moment may end the new grant too.
        let sentAt = clock.now()
        // At least a second is left, however busy the database was.
        let remaining = max(.seconds(1), ContinuousClock.now.duration(to: deadline))
        let start = ContinuousClock.now
        let answer: Result<ExchangedCode, EndpointRefusal> =
            await withTimeout(remaining) {
                do throws(EndpointRefusal) {
                    return .success(
                        try await endpoint.exchange(code, nonce: posted.nonce, timeout: remaining, at: call.now))
                } catch {
                    return .failure(error)
                }
            } ?? .failure(.unavailable(detail: "timed_out"))
        metrics.exchanged(for: posted.provider, since: start)
        if let outcome = ExchangeOutcome(answer) { outcomes.count(posted.provider, outcome) }
        if case .failure(let refusal) = answer { log(refusal, of: posted) }
        if case .failure(.credentialRejected(let refusal, let stray?)) = answer {
            let grant = NewGrant(
                clientID: code.clientID, refreshToken: stray.refreshToken, exchangedAt: sentAt, checkAt: nil)
            await end(grant, of: stray.owner, because: refusal.reason, by: call)
        }
        return answer.map { exchanged in
            CodeEvidence(
                identity: exchanged.identity,
                grant: grant(of: exchanged, for: code, provider: posted.provider, at: sentAt))
        }
    }

    private func grant(
        of exchanged: ExchangedCode, for code: AuthorizationCode, provider: Provider, at sentAt: Timestamp
    ) -> NewGrant? {
        exchanged.refreshToken.map { token in
            // Spread over the day from the start, however close together people signed up.
            let checkAt: Timestamp? =
                provider == .apple
                ? sentAt.advanced(bySeconds: GrantCheckWorker.interval + .random(in: 0..<GrantCheckWorker.interval))
                : nil
            return NewGrant(clientID: code.clientID, refreshToken: token, exchangedAt: sentAt, checkAt: checkAt)
        }
    }

    private func log(_ refusal: EndpointRefusal, of posted: PostedCode) {
        switch refusal {
        case .clientRejected(let error, let keyID):
            // Apple answers the same to a redirect URI that is not the code's, and Google to another client's code: who
            // posts one gets a line too, but not more than one a minute.
            refusedCredentials.log(
                error, at: posted.provider, keyID: keyID, clientID: posted.code.clientID,
                redirectURI: posted.redirectURI, to: logger)
        case .unavailable(let detail):
            logger.warning(
                "code not exchanged", metadata: ["provider": "\(posted.provider.rawValue)", "error": "\(detail)"])
        case .grantRejected, .requestRejected, .credentialRejected, .notConfigured:
            break
        }
    }
}

extension Result<CodeEvidence, EndpointRefusal> {
    /// Whether the provider may have refused the code for itself.
    fileprivate func mayBeJunk(withRedirectURI redirectURI: String?) -> Bool {
        switch self {
        case .success: false
        // Apple's answer to a redirect URI that is not the code's, too.
        case .failure(.clientRejected) where redirectURI != nil: true
        case .failure(let refusal): refusal.mayBeAboutCode
        }
    }
}
