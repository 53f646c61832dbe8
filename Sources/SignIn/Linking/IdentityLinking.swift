package import Accounts
import JOSE
import Storage

/// Linking another identity while signed in.
package struct IdentityLinking: Sendable {
    let verifier: CredentialVerifier
    let known: KnownIdentities
    let tickets: LinkTickets
    let metrics: SignInMetrics

    /// Links an identity to the account of a fresh session. No session is opened or ended.
    package func link(
        _ provider: Provider, _ credential: ProviderCredential, to session: Session, by call: Call
    ) async throws(SignInFailure) -> Identity {
        try await metrics.links.counting(.add, as: .linked) { () throws(SignInFailure) in
            try await add(provider, credential, to: session, by: call)
        }
    }

    private func add(
        _ provider: Provider, _ credential: ProviderCredential, to session: Session, by call: Call
    ) async throws(SignInFailure) -> Identity {
        try session.requireFresh(by: call)
        let evidence = try await verifier.evidence(of: credential, from: provider, by: call)
        let linked = try await add(
            CodeEvidence(identity: evidence.identity, grant: evidence.grant), name: credential.fullName, to: session,
            by: call)
        await verifier.record(
            evidence.codeRefusal, of: evidence.identity.key, linked: (session.accountID, linked.id), by: call)
        return linked
    }

    /// Links an identity that was proven in a browser.
    func link(
        _ identity: VerifiedIdentity, grant: NewGrant?, name: DisplayName?, to session: Session, by call: Call
    ) async throws(SignInFailure) {
        try await metrics.links.counting(.add, as: .linked) { () throws(SignInFailure) in
            _ = try await add(CodeEvidence(identity: identity, grant: grant), name: name, to: session, by: call)
        }
    }

    /// - Parameter name: the one that the provider stated.
    private func add(
        _ evidence: CodeEvidence, name: DisplayName?, to session: Session, by call: Call
    ) async throws(SignInFailure) -> Identity {
        let hash: SecretHash
        do throws(SignInFailure) {
            // Where the person was linked under a former subject, that identity moves or stays: it is linked already.
            let identity = try await known.adopt(evidence.identity, by: call) ?? evidence.identity
            // By way of a ticket, as for *bind*: so one transaction does all linking.
            let ticket = LinkTicket(
                identity: identity, displayName: name, createdAt: call.now,
                expiresAt: call.now.advanced(bySeconds: Lifetimes.linkTicketSeconds))
            _ = try await known.holder(of: identity, besides: session.accountID, by: call)
            hash = try await tickets.insert(ticket, grant: evidence.grant, by: call).hash
        } catch {
            await verifier.codes.abandon(evidence, after: error, by: call)
            throw error
        }
        let identityID = try IdentityID.fresh(at: call.now)
        let bound: (account: Account, identityID: IdentityID)
        do throws(SignInFailure) {
            bound = try await tickets.link(with: hash, to: session, by: call, identityID: identityID)
        } catch {
            // The grant of a code must not wait for the ticket's expiry.
            try await tickets.cancel(hash, by: call)
            switch error {
            case .proofNoLongerValid: throw .invalidSession
            // Since the token was verified, an event of the provider has ended what it vouched for; or too many sign-ins of
            // the same unlinked identity have pushed the ticket out.
            case .linkTicketExpired: throw .credentialRejected(.expired, retryAfter: nil)
            default: throw error
            }
        }
        guard let identity = bound.account.identities.first(where: { $0.id == bound.identityID }) else {
            throw .fault(operation: "link")
        }
        return identity
    }
}
