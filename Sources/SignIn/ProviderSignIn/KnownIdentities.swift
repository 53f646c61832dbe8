import Accounts
import JOSE
import Logging
import Providers
import Storage

/// The identities that are linked to an account.
struct KnownIdentities: Sendable {
    let identities: IdentityStore
    let accounts: AccountStore
    let grants: GrantStore
    let transfers: TransferStore
    /// Knows the Team IDs.
    let apple: AppleTokenEndpoint?
    let issuer: SessionIssuer
    let repetitions: RepeatedEvents
    let logger: Logger

    /// Signs in a person whose identity is linked.
    ///
    /// - Returns: `nil` when the identity is not linked.
    func signIn(
        _ identity: VerifiedIdentity, grant: NewGrant? = nil, by call: Call
    ) async throws(SignInFailure) -> SignedIn? {
        // First: the grant is stored before the sign-in is answered, and the answer shows it. That of a proof that counts no
        // more is not, and the sign-in is refused.
        if let grant, try await !stored({ try await grants.keep(grant, for: identity, by: call) }) {
            let known = try await stored { try await accounts.decision(on: identity) }
            guard known?.decision == .outdated else { return nil }
        }
        let newSession = try issuer.newSession(
            authenticatedAt: identity.authenticatedAt, atProvider: identity.authenticatedAt,
            methods: [AuthenticationMethod(identity.key.provider)],
            by: call)
        let outcome = try await repetitions.recording(.signIn(identity.key), by: call) {
            isRecorded throws(SignInFailure) in
            let outcome = try await stored {
                try await identities.signIn(identity, newSession: newSession, isRecorded: isRecorded)
            }
            return (outcome, outcome.event(at: identity.key.provider, newSession))
        }
        switch outcome {
        case .signedIn(let account, let identityID):
            let noted = try await note(identity, of: account, by: call)
            return try issuer.signedIn(noted, identityID: identityID, newSession: newSession)
        case .disabled:
            throw .accountDisabled
        case .blocked:
            throw .identityBlocked
        case .outdated:
            throw .credentialRejected(.expired, retryAfter: nil)
        case .unknown:
            return nil
        }
    }

    /// What a sign-in means for the address of the account: the identity's claim may raise its degree, and its owner may
    /// have to hear of the sign-in. Both are rare. And for another account that has the address of the claim.
    private func note(
        _ identity: VerifiedIdentity, of account: Account, by call: Call
    ) async throws(SignInFailure) -> Account {
        if let linked = account.identities.first(where: { $0.key == identity.key }), linked.isSignInNoticed {
            try await stored {
                try await accounts.notifySignIn(by: linked, of: account, by: call)
            }
        }
        if identity.email?.address != account.email {
            await noteSuccession(by: identity, of: account.id, by: call)
        }
        guard let raised = account.emailRaised(by: identity.email) else { return account }
        do {
            return try await accounts.raise(raised, of: account.id, by: call) ? account.raised(to: raised) : account
        } catch {
            // The session is open, and the next proof says it again.
            logger.warning(
                "address not raised",
                metadata: ["accountId": "\(account.id)", "error": "\(String(reflecting: error))"])
            return account
        }
    }

    /// What a proof by a linked identity means for another account that has the address of its claim. It fails nothing: the
    /// next proof says it again.
    ///
    /// - Parameter own: the account that the identity is linked to.
    func noteSuccession(by identity: VerifiedIdentity, of own: AccountID, by call: Call) async {
        guard let claim = identity.email, AddressEvidence(claim) == .authoritative else { return }
        do {
            _ = try await holder(of: identity, besides: own, by: call)
        } catch {
            logger.warning(
                "successor of an address not noted",
                metadata: ["accountId": "\(own)", "error": "\(String(reflecting: error))"])
        }
    }

    /// Another account that has the address of the identity. A successor at the same provider, known or not, makes a proven
    /// one stated: from now on a mailed code shows which identities are in it before it opens.
    ///
    /// - Parameter own: the account that the identity is linked to, or is about to be.
    func holder(
        of identity: VerifiedIdentity, besides own: AccountID? = nil, by call: Call
    ) async throws(SignInFailure) -> Account? {
        guard let candidate = identity.email?.candidate,
            let holder = try await stored({ try await accounts.holder(of: candidate) }), holder.id != own
        else { return nil }
        // A token from before all access to the account ended says nothing of who reads the mailbox now.
        if holder.emailProof == .proven, holder.isSucceeded(by: identity),
            try await stored({ try await accounts.isCurrent(identity.issuedAt, for: holder.id) })
        {
            try await stored { try await accounts.lower(candidate, of: holder.id, by: call) }
        }
        return holder
    }

    /// Moves the identity that a person had with the app's former team to their new subject, once the configuration has
    /// the app in the new team.
    ///
    /// - Returns: the person as they are known now; `nil` when the token names no former subject.
    func adopt(_ identity: VerifiedIdentity, by call: Call) async throws(SignInFailure) -> VerifiedIdentity? {
        guard let transferSubject = identity.transferSubject else { return nil }
        let team = apple?.teamID(of: identity.key.realm)
        let event = AuditEvent(.identityTransferred, by: .provider, in: call)
        let adoption = try await stored {
            try await transfers.adopt(
                transferSubject, as: identity.key, of: team, email: identity.email, event: event, by: call)
        }
        return switch adoption {
        case .staying(let key): identity.known(as: key)
        // Also when nothing moved: a concurrent sign-in of the person may have moved it.
        case .moved, .none: identity
        }
    }
}
