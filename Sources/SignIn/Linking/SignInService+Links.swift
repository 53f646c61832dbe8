package import Accounts
import Storage

/// The credential that proves an account to bind to.
package enum BindCredential: Sendable {
    /// An access token.
    case session([UInt8])
    case password(email: String, password: String)
    /// A code that was mailed to the account's address for this ticket.
    case emailCode(email: String, code: String)
}

/// The proof that a ticket's identity may be bound, and what the new session records of it.
struct ProvenOwnership: Sendable {
    let proof: BindProof
    let authenticatedAt: Timestamp
    /// The methods that proved the account, beside the provider's token.
    let methods: [AuthenticationMethod]
}

extension SignInService {
    /// Makes an account for the ticket's identity.
    package func create(
        linkTicket: String, displayName: DisplayName?, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        try await metrics.links.counting(.create, as: .linked) { () throws(SignInFailure) in
            try await createAccount(for: linkTicket, displayName: displayName, client: client)
        }
    }

    private func createAccount(
        for linkTicket: String, displayName: DisplayName?, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        let now = clock.now()
        guard let hash = OpaqueSecret.hash(ofPresented: linkTicket) else { throw .linkTicketExpired }
        guard let ticket = try await stored({ try await stores.links.open(hash, at: now) }) else {
            throw .linkTicketExpired
        }
        let newSession = try newSession(
            authenticatedAt: ticket.identity.authenticatedAt, atProvider: ticket.identity.authenticatedAt,
            methods: [AuthenticationMethod(ticket.identity.key.provider)], client: client.with(ticket.device), now: now)
        let accountID: AccountID = try freshID(now)
        let identityID: IdentityID = try freshID(now)
        let outcome = try await stored {
            try await stores.links.create(
                hash, accountID: accountID, identityID: identityID, displayName: displayName, newSession: newSession,
                from: origin(client))
        }
        switch outcome {
        case .created(let account):
            return try signedIn(account, identityID: identityID, newSession: newSession)
        case .ticketExpired: throw .linkTicketExpired
        case .emailTaken: throw .emailTaken
        case .identityAlreadyLinked: throw .identityAlreadyLinked
        }
    }

    /// Links the ticket's identity to the account that the credential proves.
    ///
    /// - Parameter replacing: whether another identity of the provider is replaced, and its authorization revoked.
    package func bind(
        linkTicket: String, credential: BindCredential, replacing: Bool = false, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        try await metrics.links.counting(.bind, as: .linked) { () throws(SignInFailure) in
            try await proveAndSpend(linkTicket, by: credential, replacing: replacing, client: client)
        }
    }

    private func proveAndSpend(
        _ linkTicket: String, by credential: BindCredential, replacing: Bool, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        let now = clock.now()
        // The ticket first: it is cheap to check, a password is not.
        guard let hash = OpaqueSecret.hash(ofPresented: linkTicket),
            let ticket = try await stored({ try await stores.links.open(hash, at: now) })
        else { throw .linkTicketExpired }
        let ownership = try await proveOwnership(by: credential, ticketHash: hash, client: client)
        do throws(SignInFailure) {
            return try await spendTicket(
                ticket, hash: hash, ownership: ownership, replacing: replacing, client: client, at: clock.now())
        } catch .proofNoLongerValid {
            switch credential {
            case .session: throw .invalidSession
            case .password, .emailCode: throw .invalidCredentials
            }
        }
    }

    package func cancel(linkTicket: String, client: Client) async throws(SignInFailure) {
        guard let hash = OpaqueSecret.hash(ofPresented: linkTicket) else { return }
        let now = clock.now()
        let event = AuditEvent(.linkCancelled, from: origin(client))
        try await stored { try await stores.links.cancel(hash, at: now, recording: event) }
    }

    /// Binds the ticket's identity to the account that is proven, and opens a session.
    func spendTicket(
        _ ticket: LinkTicket, hash: [UInt8], ownership: ProvenOwnership, replacing: Bool = false, client: Client,
        at now: Timestamp
    ) async throws(SignInFailure) -> SignedIn {
        let provider = AuthenticationMethod(ticket.identity.key.provider)
        let newSession = try newSession(
            authenticatedAt: max(ownership.authenticatedAt, ticket.identity.authenticatedAt),
            atProvider: ticket.identity.authenticatedAt,
            methods: ownership.methods.filter { $0 != provider } + [provider],
            client: client.with(ticket.device), now: now)
        // An account is merged away only if the caller has proven the surviving account.
        let strayAccountPolicy: StrayAccountPolicy =
            if case .verifiedEmail = ownership.proof { .refuse } else { configuration.strayAccountPolicy }
        let request = BindRequest(
            proof: ownership.proof, isReplacing: replacing, strayAccountPolicy: strayAccountPolicy,
            identityID: try freshID(now), newSession: newSession, origin: origin(client))
        let (account, identityID) = try await spendTicket(hash, request, at: now)
        return try signedIn(account, identityID: identityID, newSession: newSession)
    }

    func spendTicket(
        _ hash: [UInt8], _ request: BindRequest, at now: Timestamp
    ) async throws(SignInFailure) -> (account: Account, identityID: IdentityID) {
        switch try await stored({ try await stores.links.bind(hash, request, at: now) }) {
        case .bound(let account, let identityID): return (account, identityID)
        case .ticketExpired: throw .linkTicketExpired
        case .proofNoLongerValid: throw .proofNoLongerValid
        case .accountDisabled: throw .accountDisabled
        case .identityAlreadyLinked: throw .identityAlreadyLinked
        case .providerAlreadyLinked(let existing): throw .providerAlreadyLinked(existing)
        }
    }

    private func proveOwnership(
        by credential: BindCredential, ticketHash: [UInt8], client: Client
    ) async throws(SignInFailure) -> ProvenOwnership {
        switch credential {
        case .session(let token):
            let session = try await session(of: token)
            guard session.isFresh(at: clock.now()) else { throw .reauthenticationRequired }
            return ProvenOwnership(
                proof: .session(session.id, of: session.accountID), authenticatedAt: session.authenticatedAt,
                methods: session.methods)
        case .password(let email, let password):
            let proven = try await provePassword(email: email, password: password, client: client)
            return ProvenOwnership(
                proof: .password(hash: proven.passwordHash, of: proven.accountID), authenticatedAt: clock.now(),
                methods: [.password])
        case .emailCode(let email, let typed):
            let code = try await proveCode(
                typed, for: .bind, of: EmailAddress(email), ticketHash: ticketHash, by: client)
            return ProvenOwnership(
                proof: .emailCode(code), authenticatedAt: clock.now(), methods: [.oneTimeCode])
        }
    }
}
