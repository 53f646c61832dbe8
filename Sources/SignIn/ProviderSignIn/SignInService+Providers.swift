package import Accounts
import JOSE
import Logging
import Providers
import Storage

/// The credential that a provider's SDK gave the app.
package struct ProviderCredential: Sendable {
    package let token: String?
    package let code: String?
    /// The raw nonce.
    package let nonce: String?
    package let clientID: String?
    /// The redirect URI to which Apple sent the code of a web or Android sign-in.
    package let redirectURI: String?
    /// Handed over once, at first consent; unsigned user input.
    package let fullName: DisplayName?

    package init(
        token: String?, code: String?, nonce: String?, clientID: String?, redirectURI: String? = nil,
        fullName: DisplayName?
    ) {
        self.token = token
        self.code = code
        self.nonce = nonce
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.fullName = fullName
    }
}

extension ProviderCredential {
    /// The name of the request's member that holds the provider's token.
    static func tokenMember(of provider: Provider) -> String {
        switch provider {
        case .apple: "identityToken"
        case .google: "idToken"
        }
    }
}

/// The content of a credential that was accepted.
struct SignInEvidence {
    let identity: VerifiedIdentity
    let grant: NewGrant?
    /// The provider's error code, when it refused the code that came beside a good token.
    let codeRefusal: String?

    init(_ posted: VerifiedCredential?, _ code: CodeOutcome, of provider: Provider) throws(SignInFailure) {
        switch (posted?.identity, code) {
        case (let posted?, .exchanged(let exchanged, let grant)):
            // Apple may leave the address out of one of the two.
            identity = posted.completed(by: exchanged.identity)
            self.grant = grant
        case (let posted?, _):
            identity = posted
            grant = nil
        case (nil, .exchanged(let exchanged, let grant)):
            identity = exchanged.identity
            self.grant = grant
        case (nil, _):
            throw .missingCredential(ProviderCredential.tokenMember(of: provider))
        }
        codeRefusal = if case .refused(let error) = code { error } else { nil }
    }
}

extension SignInService {
    /// Signs a known person in; gives an unknown one a link ticket.
    package func signIn(
        with provider: Provider, _ credential: ProviderCredential, client: Client
    ) async throws(SignInFailure) -> SignInAnswer {
        try await metrics.signIns.counting(.init(provider), as: \.outcomeLabel) { () throws(SignInFailure) in
            try await answer(to: credential, from: provider, client: client)
        }
    }

    private func answer(
        to credential: ProviderCredential, from provider: Provider, client: Client
    ) async throws(SignInFailure) -> SignInAnswer {
        let now = clock.now()
        let evidence = try await evidence(of: credential, from: provider, client: client, at: now)
        let answer = try await signIn(
            evidence.identity, grant: evidence.grant, fullName: credential.fullName, client: client, at: now)
        var linked: (AccountID, IdentityID)?
        if case .signedIn(let signedIn) = answer, let identity = signedIn.identity {
            linked = (signedIn.account.id, identity.id)
        }
        await record(evidence.codeRefusal, of: provider, linked: linked, client: client, at: now)
        return answer
    }

    /// Records in the audit trail that the provider refused the code beside a good token.
    func record(
        _ codeRefusal: String?, of provider: Provider, linked: (account: AccountID, identity: IdentityID)?,
        client: Client, at now: Timestamp
    ) async {
        guard let codeRefusal else { return }
        var event = AuditEvent(
            .codeRejected, by: .provider, accountID: linked?.account, identityID: linked?.identity, provider: provider,
            reason: codeRefusal, requestID: client.requestID)
        event.network = client.network
        do {
            try await stores.audit.record(event, at: now)
        } catch {
            // The sign-in succeeds without the record.
            logger.warning("refused code not recorded", metadata: ["error": "\(String(reflecting: error))"])
        }
    }

    /// The verified person, by the token or by the exchanged code.
    ///
    /// Only a verified credential spends a nonce: a forged token must not use up another person's. The nonce is spent
    /// before a code is exchanged, where possible: of two sign-ins with one nonce, the one that loses must not use up the
    /// code.
    func evidence(
        of credential: ProviderCredential, from provider: Provider, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignInEvidence {
        try await notingRefusal(of: provider, by: client) { () throws(SignInFailure) in
            let posted = try await verify(credential, of: provider, at: now)
            let nonce = try nonceToSpend(credential.nonce, for: provider, at: now)
            if posted != nil, let nonce { try await spend(nonce, at: now) }
            // A code can be exchanged only once: not beside a nonce that is already spent.
            if posted == nil, let nonce { try await requireUnspent(nonce) }
            let code = try await exchange(credential, of: provider, beside: posted, at: now)
            let evidence = try SignInEvidence(posted, code, of: provider)
            if posted == nil, let nonce { try await spend(nonce, at: now) }
            return evidence
        }
    }

    private func signIn(
        _ identity: VerifiedIdentity, grant: NewGrant?, fullName: DisplayName?, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignInAnswer {
        if let signedIn = try await signInKnown(identity, grant: grant, client: client, at: now) {
            return .signedIn(try await fillingDisplayName(signedIn, fullName))
        }
        if try await adopt(identity, client: client, at: now) {
            // Also when it moved nothing: a concurrent sign-in of the person may have.
            if let signedIn = try await signInKnown(identity, grant: grant, client: client, at: now) {
                return .signedIn(try await fillingDisplayName(signedIn, fullName))
            }
        }
        return try await issueLinkTicket(identity, grant: grant, fullName: fullName, client: client, at: now)
    }

    /// Moves the identity that a person had with the app's former team to their new subject.
    ///
    /// - Returns: whether the token names a former subject.
    func adopt(
        _ identity: VerifiedIdentity, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> Bool {
        guard let transferSubject = identity.transferSubject else { return false }
        let event = AuditEvent(.identityTransferred, by: .provider, requestID: client.requestID)
        _ = try await stored {
            try await stores.transfers.adopt(
                transferSubject, as: identity.key, email: identity.email, event: event, at: now)
        }
        return true
    }

    /// Fills an empty display name, and changes none: Apple gives the app a name only once, at first consent.
    private func fillingDisplayName(_ signedIn: SignedIn, _ fullName: DisplayName?) async throws(SignInFailure)
        -> SignedIn
    {
        guard let fullName, signedIn.account.displayName == nil else { return signedIn }
        let isFilled = try await stored {
            try await stores.accounts.fillDisplayName(fullName, of: signedIn.account.id)
        }
        guard isFilled else { return signedIn }
        return SignedIn(
            session: signedIn.session, account: signedIn.account.named(fullName), identity: signedIn.identity)
    }

    /// - Returns: `nil` when no token was posted.
    private func verify(
        _ credential: ProviderCredential, of provider: Provider, at now: Timestamp
    ) async throws(SignInFailure) -> VerifiedCredential? {
        let rules = try rules(of: provider)
        guard let token = credential.token else { return nil }
        let start = ContinuousClock.now
        defer { metrics.verified(for: provider, since: start) }
        do throws(CredentialRefusal) {
            return try await rules.credential(
                Array(token.utf8), postedNonce: credential.nonce, expectedClientID: credential.clientID, at: now)
        } catch {
            guard error.reason != .keysUnavailable else {
                throw .providerUnavailable(retryAfter: error.retryAfter ?? 5, reason: error.reason.rawValue)
            }
            throw .credentialRejected(error.reason, retryAfter: error.retryAfter)
        }
    }

    func rules(of provider: Provider) throws(SignInFailure) -> any IdentityProvider {
        let rules: (any IdentityProvider)? =
            switch provider {
            case .apple: apple
            case .google: google
            }
        guard let rules else { throw .providerDisabled }
        return rules
    }

    /// - Returns: `nil` when the identity is not linked.
    private func signInKnown(
        _ identity: VerifiedIdentity, grant: NewGrant? = nil, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignedIn? {
        // First: the grant is stored before the sign-in is answered, and the answer shows it.
        if let grant, try await !stored({ try await stores.grants.keep(grant, for: identity.key) }) { return nil }
        let newSession = try newSession(
            authenticatedAt: identity.authenticatedAt, atProvider: identity.authenticatedAt,
            methods: [AuthenticationMethod(identity.key.provider)],
            client: client, now: now)
        switch try await stored({ try await stores.identities.signIn(identity, newSession: newSession) }) {
        case .signedIn(let account, let identityID):
            return try signedIn(account, identityID: identityID, newSession: newSession)
        case .disabled:
            throw .accountDisabled
        case .outdated:
            throw .credentialRejected(.expired, retryAfter: nil)
        case .unknown:
            return nil
        }
    }

    /// Issues a link ticket for an identity that is not linked: its owner chooses, unless the policy binds it by its email
    /// address. Decided without a lock; spending the ticket decides again under one.
    private func issueLinkTicket(
        _ identity: VerifiedIdentity, grant: NewGrant?, fullName: DisplayName?, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignInAnswer {
        let holder: EmailHolder? =
            if let candidate = identity.email?.candidate {
                try await stored {
                    try await stores.accounts.holder(
                        of: candidate, provider: identity.key.provider, realm: identity.key.realm)
                }
            } else {
                nil
            }
        let ticket = LinkTicket(
            identity: identity, displayName: fullName, device: client.device, createdAt: now,
            expiresAt: now.advanced(bySeconds: SignInService.ticketLifetime))
        let secret = try freshSecret()
        let event = AuditEvent(.linkRequired, from: origin(client), provider: identity.key.provider)
        try await stored {
            try await stores.links.insert(ticket, hash: secret.hash, grant: grant, recording: event)
        }
        var decision = Linking.decide(identity, holder: holder, policy: configuration.verifiedEmailPolicy)
        if case .bindAutomatically = decision {
            if let signedIn = try await bindAutomatically(ticket, hash: secret.hash, client: client, at: now) {
                return .signedIn(signedIn)
            }
            decision = Linking.decide(identity, holder: holder, policy: .prompt)
        }
        // A concurrent sign-in of the person may have bound the identity since this one looked it up.
        if configuration.verifiedEmailPolicy == .automatic, holder?.isEmailVerified == true,
            let signedIn = try await signInKnown(identity, client: client, at: now)
        {
            return .signedIn(signedIn)
        }
        guard case .linkRequired(let choices) = decision else { throw .fault(operation: "decide") }
        return .linkRequired(
            LinkRequired(linkTicket: secret.text, expiresAt: ticket.expiresAt, identity: identity, choices: choices))
    }

    /// - Returns: `nil` when the account is no longer one that the policy binds to: then the person is asked.
    private func bindAutomatically(
        _ ticket: LinkTicket, hash: [UInt8], client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignedIn? {
        let ownership = ProvenOwnership(
            proof: .verifiedEmail, authenticatedAt: ticket.identity.authenticatedAt, methods: [])
        do throws(SignInFailure) {
            let signedIn = try await spendTicket(
                ticket, hash: hash, ownership: ownership, client: client, at: now)
            metrics.links.count(.automatic, OutcomeLabel(.linked))
            return signedIn
        } catch {
            switch error {
            case .proofNoLongerValid, .identityAlreadyLinked, .accountDisabled, .providerAlreadyLinked: return nil
            // Since the token was verified, an event of the provider has ended what it vouched for.
            case .linkTicketExpired: throw .credentialRejected(.expired, retryAfter: nil)
            default: throw error
            }
        }
    }
}
