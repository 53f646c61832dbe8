package import Accounts
import JOSE
import Storage

extension SignInService {
    /// Links an identity to the account of a fresh session. No session is opened or ended.
    package func link(
        _ provider: Provider, _ credential: ProviderCredential, to session: Session, client: Client
    ) async throws(SignInFailure) -> Identity {
        try await metrics.links.counting(.add, as: .linked) { () throws(SignInFailure) in
            try await add(provider, credential, to: session, client: client)
        }
    }

    private func add(
        _ provider: Provider, _ credential: ProviderCredential, to session: Session, client: Client
    ) async throws(SignInFailure) -> Identity {
        let now = clock.now()
        guard session.isFresh(at: now) else { throw .reauthenticationRequired }
        let evidence = try await evidence(of: credential, from: provider, client: client, at: now)
        // An identity linked under the person's former subject moves to the new one, and so is linked already.
        _ = try await adopt(evidence.identity, client: client, at: now)
        // By way of a ticket, as for *bind*: so one transaction does all linking.
        let secret = try freshSecret()
        let ticket = LinkTicket(
            identity: evidence.identity, displayName: credential.fullName, createdAt: now,
            expiresAt: now.advanced(bySeconds: SignInService.ticketLifetime))
        try await stored { try await stores.links.insert(ticket, hash: secret.hash, grant: evidence.grant) }
        let request = BindRequest(
            proof: .session(session.id, of: session.accountID), isReplacing: false,
            strayAccountPolicy: configuration.strayAccountPolicy, identityID: try freshID(now), newSession: nil,
            origin: origin(client))
        let bound: (account: Account, identityID: IdentityID)
        do throws(SignInFailure) {
            bound = try await spendTicket(secret.hash, request, at: clock.now())
        } catch {
            // The grant of a code must not wait for the ticket's expiry.
            try await stored { try await stores.links.cancel(secret.hash, at: clock.now()) }
            switch error {
            case .proofNoLongerValid: throw .invalidSession
            // Since the token was verified, an event of the provider has ended what it vouched for.
            case .linkTicketExpired: throw .credentialRejected(.expired, retryAfter: nil)
            default: throw error
            }
        }
        await record(
            evidence.codeRefusal, of: provider, linked: (bound.account.id, bound.identityID), client: client, at: now)
        guard let identity = bound.account.identities.first(where: { $0.id == bound.identityID }) else {
            throw .fault(operation: "link")
        }
        return identity
    }
}
