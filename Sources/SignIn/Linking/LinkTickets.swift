import Accounts
import OpenSSL
import Storage

/// Link tickets, from their issue to the transaction that spends them.
struct LinkTickets: Sendable {
    let store: LinkStore
    let mailboxes: MailboxTicketStore
    let issuer: SessionIssuer
    let strayAccountPolicy: StrayAccountPolicy
    let mailLanguages: MailLanguages

    /// Stores a ticket under a new secret.
    ///
    /// - Parameter isHeld: whether its person holds it; false if its own request spends it.
    func insert(
        _ ticket: LinkTicket, grant: NewGrant?, isHeld: Bool = false, recording event: AuditEvent? = nil
    ) async throws(SignInFailure) -> OpaqueSecret {
        let secret = try OpaqueSecret.fresh()
        try await stored {
            try await store.insert(ticket, hash: secret.hash, grant: grant, isHeld: isHeld, recording: event)
        }
        return secret
    }

    /// The ticket of a presented secret, if it can be spent.
    func open(_ secret: String, at now: Timestamp) async throws(SignInFailure) -> (hash: [UInt8], ticket: LinkTicket) {
        guard let hash = OpaqueSecret.hash(ofPresented: secret),
            let ticket = try await stored({ try await store.open(hash, at: now) })
        else { throw .linkTicketExpired }
        return (hash, ticket)
    }

    /// A ticket of either kind.
    enum Opened {
        case identity([UInt8], LinkTicket)
        case mailbox([UInt8], MailboxTicket)
    }

    /// The ticket of either kind that a presented secret stands for, if it can be spent.
    func openAny(_ secret: String, at now: Timestamp) async throws(SignInFailure) -> Opened {
        guard let hash = OpaqueSecret.hash(ofPresented: secret) else { throw .linkTicketExpired }
        if let ticket = try await stored({ try await store.open(hash, at: now) }) { return .identity(hash, ticket) }
        if let ticket = try await stored({ try await mailboxes.open(hash, at: now) }) { return .mailbox(hash, ticket) }
        throw .linkTicketExpired
    }

    /// Keeps that the ticket's person has been shown the account, having typed a code that was mailed to its address.
    func show(_ account: Account, toReaderWith hash: [UInt8], at now: Timestamp) async throws(SignInFailure) {
        try await stored { try await store.show(account, toReaderWith: hash, at: now) }
    }

    /// Keeps that the ticket's person has been shown the account.
    func show(_ account: Account, to hash: [UInt8], at now: Timestamp) async throws(SignInFailure) {
        try await stored { try await store.show(ShownAccount(account), to: hash, at: now) }
    }

    /// Binds the ticket's identity to the account that is proven, and opens a session.
    func openSession(
        with ticket: LinkTicket, hash: [UInt8], ownership: ProvenOwnership, replacing: Bool = false, client: Client,
        at now: Timestamp
    ) async throws(SignInFailure) -> SignedIn {
        let provider = AuthenticationMethod(ticket.identity.key.provider)
        let newSession = try issuer.newSession(
            authenticatedAt: max(ownership.authenticatedAt, ticket.identity.authenticatedAt),
            atProvider: ticket.identity.authenticatedAt,
            methods: ownership.methods.filter { $0 != provider } + [provider],
            client: client.with(ticket.device), now: now)
        // An account is merged away only if the caller has proven the surviving account.
        let strayAccountPolicy: StrayAccountPolicy =
            if case .verifiedEmail = ownership.proof { .refuse } else { self.strayAccountPolicy }
        let request = BindRequest(
            proof: ownership.proof, isReplacing: replacing, strayAccountPolicy: strayAccountPolicy,
            identityID: try .fresh(at: now), newSession: newSession, origin: mailLanguages.origin(of: client))
        let (account, identityID) = try await spend(hash, for: request, at: now)
        return try issuer.signedIn(account, identityID: identityID, newSession: newSession)
    }

    /// Binds the ticket's identity to an account of a live session, and opens none.
    func link(
        with hash: [UInt8], to session: Session, client: Client, identityID: IdentityID, at now: Timestamp
    ) async throws(SignInFailure) -> (account: Account, identityID: IdentityID) {
        let request = BindRequest(
            proof: .session(session.id, of: session.accountID), isReplacing: false,
            strayAccountPolicy: strayAccountPolicy, identityID: identityID, newSession: nil,
            origin: mailLanguages.origin(of: client))
        return try await spend(hash, for: request, at: now)
    }

    private func spend(
        _ hash: [UInt8], for request: BindRequest, at now: Timestamp
    ) async throws(SignInFailure) -> (account: Account, identityID: IdentityID) {
        switch try await stored({ try await store.bind(hash, request, at: now) }) {
        case .bound(let account, let identityID): return (account, identityID)
        case .ticketExpired: throw .linkTicketExpired
        case .proofNoLongerValid: throw .proofNoLongerValid
        case .holderNotShown(let account): throw .holderNotShown(account)
        case .accountDisabled: throw .accountDisabled
        case .identityAlreadyLinked: throw .identityAlreadyLinked
        case .providerAlreadyLinked(let existing): throw .providerAlreadyLinked(existing)
        }
    }

    /// Cancels a ticket that the service itself has made; does nothing for any other.
    func cancel(_ hash: [UInt8], at now: Timestamp) async throws(SignInFailure) {
        try await stored { _ = try await store.cancel(hash, at: now, recording: nil) }
    }
}

/// The proof that a ticket's identity may be bound, and what the new session records of it.
struct ProvenOwnership: Sendable {
    let proof: BindProof
    let authenticatedAt: Timestamp
    /// The methods that proved the account, beside the provider's token.
    let methods: [AuthenticationMethod]
}

extension OpaqueSecret {
    static func fresh() throws(SignInFailure) -> OpaqueSecret {
        do {
            return try OpaqueSecret()
        } catch {
            throw .fault(operation: "random")
        }
    }
}
