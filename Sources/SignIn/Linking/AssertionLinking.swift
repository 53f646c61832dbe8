package import Accounts
package import Storage

/// The account of a person whom a client of the OAuth server asserts, by a token of their provider
/// (docs/account-linking.md, "Three ways to a link"). No session comes of it.
package struct AssertionLinking: Sendable {
    let accounts: AccountStore
    let known: KnownIdentities
    let tickets: LinkTickets
    let verifiedEmailPolicy: VerifiedEmailPolicy
    let metrics: SignInMetrics

    /// What there is for a person.
    package enum Standing: Sendable {
        /// The identity is linked to this account, which is active.
        case linked(AccountID)
        /// The identity may be linked to this account by its address, without another proof.
        case linkable(AccountID)
        /// There is no account; `isFree` if the assertion has a verified address that no account has.
        case unknown(isFree: Bool)
        /// There is one, and the assertion opens it as little as a sign-in would.
        case refused
    }

    /// Links nothing. What an assertion says of who reads a mailbox now counts as that of a sign-in does.
    package func standing(of identity: VerifiedIdentity, by call: Call) async throws(SignInFailure) -> Standing {
        if let linked = try await stored({ try await accounts.decision(on: identity) }) {
            guard linked.decision == .active else { return .refused }
            await known.noteSuccession(by: identity, of: linked.accountID, by: call)
            return .linked(linked.accountID)
        }
        guard identity.email?.candidate != nil else { return .unknown(isFree: false) }
        let holder = try await known.holder(of: identity, by: call)
        // As linking decides again: what would be refused there is not found.
        if case .bindAutomatically(let id) = Linking.decide(identity, holder: holder, policy: verifiedEmailPolicy),
            try await stored({ try await accounts.isCurrent(identity.issuedAt, for: id) })
        {
            return .linkable(id)
        }
        return .unknown(isFree: holder == nil)
    }

    /// Links the identity to the account that its address leads to, and notifies the owner.
    ///
    /// - Returns: `nil` when there is no such account any more.
    package func link(_ identity: VerifiedIdentity, by call: Call) async throws(SignInFailure) -> AccountID? {
        let hash = try await ticket(for: identity, displayName: nil, by: call)
        let request = BindRequest(
            proof: .verifiedEmail, isReplacing: false, strayAccountPolicy: .refuse,
            identityID: try .fresh(at: call.now),
            newSession: nil)
        do {
            let account = try await tickets.store.bind(hash, request, by: call).account
            metrics.links.count(.automatic, OutcomeLabel(.linked))
            return account.id
        } catch is Refusal {
            try await tickets.cancel(hash, by: call)
            return nil
        } catch {
            throw SignInFailure(stored: error)
        }
    }

    /// Makes an account, as *create* does, and links it to the client that asserts its person, in one transaction.
    ///
    /// - Returns: `false` when another account has the identity or the address by now: nothing is made.
    package func create(
        _ identity: VerifiedIdentity, linked link: NewOAuthLink, by call: Call
    ) async throws(SignInFailure) -> Bool {
        let hash = try await ticket(for: identity, displayName: identity.name, by: call)
        let (accountID, identityID) = (try AccountID.fresh(at: call.now), try IdentityID.fresh(at: call.now))
        do {
            _ = try await tickets.store.create(
                hash, accountID: accountID, identityID: identityID, name: .ofProvider, for: .client(link),
                by: call)
        } catch is Refusal {
            try await tickets.cancel(hash, by: call)
            return false
        } catch {
            throw SignInFailure(stored: error)
        }
        metrics.links.count(.create, OutcomeLabel(.linked))
        return true
    }

    private func ticket(
        for identity: VerifiedIdentity, displayName: DisplayName?, by call: Call
    ) async throws(SignInFailure) -> SecretHash {
        let ticket = LinkTicket(
            identity: identity, displayName: displayName, device: nil, shownHolder: nil, createdAt: call.now,
            expiresAt: call.now.advanced(bySeconds: Lifetimes.linkTicketSeconds))
        return try await tickets.insert(ticket, grant: nil, by: call).hash
    }
}
