import Accounts
import OpenSSL
import Storage

/// Link tickets, from their issue to the transaction that spends them.
struct LinkTickets: Sendable {
    let store: LinkStore
    let mailboxes: MailboxTicketStore
    let issuer: SessionIssuer
    let strayAccountPolicy: StrayAccountPolicy
    let limits: RateLimiter

    /// Stores a ticket under a new secret.
    ///
    /// - Parameter isHeld: whether its person holds it; false if its own request spends it.
    func insert(
        _ ticket: LinkTicket, grant: NewGrant?, isHeld: Bool = false, recording event: AuditEvent? = nil, by call: Call
    ) async throws(SignInFailure) -> OpaqueSecret {
        let secret = try OpaqueSecret.fresh()
        try await stored {
            try await store.insert(ticket, hash: secret.hash, grant: grant, isHeld: isHeld, recording: event, by: call)
        }
        return secret
    }

    /// A ticket of either kind.
    enum Opened {
        case identity(SecretHash, LinkTicket)
        case mailbox(SecretHash, MailboxTicket, shown: ShownAccount)
    }

    /// The ticket of either kind that a presented secret stands for, if it can be spent.
    func open(_ secret: String, by call: Call) async throws(SignInFailure) -> Opened {
        guard let hash = OpaqueSecret.hash(ofPresented: secret) else { throw .linkTicketExpired }
        if let ticket = try await stored({ try await store.open(hash, by: call) }) { return .identity(hash, ticket) }
        if let opened = try await stored({ try await mailboxes.open(hash, by: call) }) {
            return .mailbox(hash, opened.ticket, shown: opened.shown)
        }
        throw .linkTicketExpired
    }

    /// Keeps that the ticket's person has been shown the account, having typed a code that was mailed to its address.
    func show(_ account: Account, toReaderWith hash: SecretHash, by call: Call) async throws(SignInFailure) {
        try await stored { try await store.show(account, toReaderWith: hash, by: call) }
    }

    /// Keeps that the ticket's person has been shown the account.
    func show(_ account: Account, to hash: SecretHash, by call: Call) async throws(SignInFailure) {
        try await stored { try await store.show(ShownAccount(account), to: hash, by: call) }
    }

    /// Binds the ticket's identity to the account that is proven, and opens a session.
    func openSession(
        with ticket: LinkTicket, hash: SecretHash, ownership: ProvenOwnership, replacing: Bool = false, by call: Call
    ) async throws(SignInFailure) -> SignedIn {
        let provider = AuthenticationMethod(ticket.identity.key.provider)
        let newSession = try issuer.newSession(
            authenticatedAt: max(ownership.authenticatedAt, ticket.identity.authenticatedAt),
            atProvider: ticket.identity.authenticatedAt,
            methods: ownership.methods.filter { $0 != provider } + [provider],
            by: call.with(ticket.device))
        // An account is merged away only if the caller has proven the surviving account.
        let strayAccountPolicy: StrayAccountPolicy =
            if case .verifiedEmail = ownership.proof { .refuse } else { self.strayAccountPolicy }
        let request = BindRequest(
            proof: ownership.proof, isReplacing: replacing, strayAccountPolicy: strayAccountPolicy,
            identityID: try .fresh(at: call.now), newSession: newSession)
        let (account, identityID) = try await spend(hash, for: request, by: call)
        return try issuer.signedIn(account, identityID: identityID, newSession: newSession)
    }

    /// Binds the ticket's identity to an account of a live session, and opens none.
    func link(
        with hash: SecretHash, to session: Session, by call: Call, identityID: IdentityID
    ) async throws(SignInFailure) -> (account: Account, identityID: IdentityID) {
        let request = BindRequest(
            proof: .session(session.id, of: session.accountID), isReplacing: false,
            strayAccountPolicy: strayAccountPolicy, identityID: identityID, newSession: nil)
        return try await spend(hash, for: request, by: call)
    }

    private func spend(
        _ hash: SecretHash, for request: BindRequest, by call: Call
    ) async throws(SignInFailure) -> (account: Account, identityID: IdentityID) {
        // Who proves the mailbox may be about to get the account back from a thief who has used the allowance up. A bind by
        // a session has no count limit unless it replaces: each further one takes an unlinking, which is counted.
        let account: AccountID? =
            switch request.proof {
            case .session(_, of: let id) where request.newSession == nil || request.isReplacing: id
            case .password(hash: _, of: let id): id
            case .session, .emailCode, .shownHolder, .verifiedEmail: nil
            }
        return try await limits.drawing(.linkPerAccount, of: account.map { "\($0)" }, by: call) {
            () throws(SignInFailure) in
            try await stored { try await store.bind(hash, request, by: call) }
        }
    }

    /// Cancels a ticket that the service itself has made; does nothing for any other.
    func cancel(_ hash: SecretHash, by call: Call) async throws(SignInFailure) {
        try await stored { _ = try await store.cancel(hash, by: call, recording: nil) }
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
