package import Accounts
import JOSE
import Logging
import Storage

/// Signing in with the credential that a provider's SDK gave the app.
package struct ProviderSignIn: Sendable {
    let verifier: CredentialVerifier
    let known: KnownIdentities
    let tickets: LinkTickets
    let accounts: AccountStore
    let repetitions: RepeatedEvents
    let verifiedEmailPolicy: VerifiedEmailPolicy
    let metrics: SignInMetrics

    /// Signs a known person in; gives an unknown one a link ticket.
    package func signIn(
        with provider: Provider, _ credential: ProviderCredential, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        try await metrics.signIns.counting(.init(provider), as: \.outcomeLabel) { () throws(SignInFailure) in
            try await answer(to: credential, from: provider, by: call)
        }
    }

    /// The same for a person whose credential was verified before.
    ///
    /// - Parameter grant: what the code brought.
    func signIn(
        _ identity: VerifiedIdentity, grant: NewGrant?, fullName: DisplayName?, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        try await metrics.signIns.counting(.init(identity.key.provider), as: \.outcomeLabel) {
            () throws(SignInFailure) in
            try await decide(identity, grant: grant, fullName: fullName, by: call)
        }
    }

    private func answer(
        to credential: ProviderCredential, from provider: Provider, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        // Also of a person who will get a ticket: who they are is not known before nonce and code are spent.
        try known.issuer.requireSigner(by: call)
        let evidence = try await verifier.evidence(of: credential, from: provider, by: call)
        let answer = try await decide(evidence.identity, grant: evidence.grant, fullName: credential.fullName, by: call)
        var linked: (AccountID, IdentityID)?
        if case .signedIn(let signedIn) = answer, let identity = signedIn.identity {
            linked = (signedIn.account.id, identity.id)
        }
        await verifier.record(evidence.codeRefusal, of: evidence.identity.key, linked: linked, by: call)
        return answer
    }

    private func decide(
        _ identity: VerifiedIdentity, grant: NewGrant?, fullName: DisplayName?, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        do throws(SignInFailure) {
            return try await findAccount(of: identity, grant: grant, fullName: fullName, by: call)
        } catch {
            if error.isOfStorage {
                let evidence = CodeEvidence(identity: identity, grant: grant)
                await verifier.codes.abandon(evidence, after: error, by: call)
            }
            throw error
        }
    }

    private func findAccount(
        of identity: VerifiedIdentity, grant: NewGrant?, fullName: DisplayName?, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        if let signedIn = try await signInKnown(identity, grant: grant, by: call) {
            return .signedIn(await fillingDisplayName(signedIn, fullName, by: call))
        }
        if let adopted = try await known.adopt(identity, by: call),
            let signedIn = try await signInKnown(adopted, grant: grant, by: call)
        {
            return .signedIn(await fillingDisplayName(signedIn, fullName, by: call))
        }
        return try await issueLinkTicket(identity, grant: grant, fullName: fullName, by: call)
    }

    /// Signs in by a linked identity. What came with a proof that counts no more is ended.
    private func signInKnown(
        _ identity: VerifiedIdentity, grant: NewGrant?, by call: Call
    ) async throws(SignInFailure) -> SignedIn? {
        do throws(SignInFailure) {
            return try await known.signIn(identity, grant: grant, by: call)
        } catch {
            if case .credentialRejected = error {
                await verifier.codes.abandon(CodeEvidence(identity: identity, grant: grant), after: error, by: call)
            }
            throw error
        }
    }

    /// Fills an empty display name, and changes none: Apple gives the app a name only once, at first consent. The session is
    /// open, and the proof is spent: where it can't be stored, the person is signed in without it.
    private func fillingDisplayName(_ signedIn: SignedIn, _ fullName: DisplayName?, by call: Call) async -> SignedIn {
        guard let fullName, signedIn.account.displayName == nil else { return signedIn }
        do {
            guard
                try await accounts.fillDisplayName(fullName, of: signedIn.account.id, in: signedIn.session.id, by: call)
            else { return signedIn }
        } catch {
            known.logger.warning(
                "name of a sign-in not stored",
                metadata: ["accountId": "\(signedIn.account.id)", "error": "\(String(reflecting: error))"])
            return signedIn
        }
        var account = signedIn.account
        account.displayName = fullName
        return SignedIn(session: signedIn.session, account: account, identity: signedIn.identity)
    }

    /// Issues a link ticket for an identity that is not linked: its owner chooses, unless the policy binds it by its email
    /// address. Decided without a lock; spending the ticket decides again under one.
    private func issueLinkTicket(
        _ identity: VerifiedIdentity, grant: NewGrant?, fullName: DisplayName?, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        let holder = try await known.holder(of: identity, by: call)
        var decision = Linking.decide(identity, holder: holder, policy: verifiedEmailPolicy)
        // A token from before all access to the account ended proves its mailbox as little here as it does to *bind*.
        if decision.showsIdentities, let holder,
            try await !stored({ try await accounts.isCurrent(identity.issuedAt, for: holder.id) })
        {
            let left = Linking.withoutProof(of: holder)
            decision = .linkRequired(left.choices, showing: left.view)
        }
        let ticket = LinkTicket(
            identity: identity, displayName: fullName ?? identity.name, device: call.caller.device,
            shownHolder: decision.showsIdentities ? holder.map(ShownAccount.init) : nil, createdAt: call.now,
            expiresAt: call.now.advanced(bySeconds: Lifetimes.linkTicketSeconds))
        let event = AuditEvent(.linkRequired, from: call.origin, provider: identity.key.provider)
        let isSpentAtOnce = if case .bindAutomatically = decision { true } else { false }
        let secret = try await repetitions.recording(.linkTicket(identity.key), by: call) {
            isRecorded throws(SignInFailure) in
            let secret = try await tickets.insert(
                ticket, grant: grant, isHeld: !isSpentAtOnce, recording: isRecorded ? event : nil, by: call)
            return (secret, event)
        }
        if isSpentAtOnce {
            if let signedIn = try await bindAutomatically(ticket, hash: secret.hash, by: call) {
                return .signedIn(signedIn)
            }
            decision = Linking.decide(identity, holder: holder, policy: .prompt)
        }
        // A concurrent sign-in of the person may have bound the identity since this one looked it up.
        if verifiedEmailPolicy == .automatic, holder?.isEmailVerified == true,
            let signedIn = try await known.signIn(identity, by: call)
        {
            return .signedIn(signedIn)
        }
        guard case .linkRequired(let choices, let view) = decision else { throw .fault(operation: "decide") }
        if isSpentAtOnce { try await stored { try await tickets.store.endOldest(of: identity.key, by: call) } }
        return .linkRequired(
            LinkRequired(
                linkTicket: secret.text, expiresAt: ticket.expiresAt, person: .identity(identity), choices: choices,
                holder: holder.flatMap { ShownHolder($0, view) }))
    }

    /// - Returns: `nil` when the account is no longer one that the policy binds to: then the person is asked.
    private func bindAutomatically(
        _ ticket: LinkTicket, hash: SecretHash, by call: Call
    ) async throws(SignInFailure) -> SignedIn? {
        let ownership = ProvenOwnership(
            proof: .verifiedEmail, authenticatedAt: ticket.identity.authenticatedAt, methods: [])
        do throws(SignInFailure) {
            let signedIn = try await tickets.openSession(with: ticket, hash: hash, ownership: ownership, by: call)
            metrics.links.count(.automatic, OutcomeLabel(.linked))
            return signedIn
        } catch {
            switch error {
            case .proofNoLongerValid, .identityAlreadyLinked, .accountDisabled, .providerAlreadyLinked: return nil
            case .linkTicketExpired:
                // A sign-in of the same moment has bound the identity, and those behind it have pushed the ticket out; or an
                // event of the provider has ended what the token vouched for.
                if let signedIn = try await known.signIn(ticket.identity, by: call) { return signedIn }
                throw .credentialRejected(.expired, retryAfter: nil)
            default: throw error
            }
        }
    }
}
