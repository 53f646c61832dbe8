package import Accounts
import Storage

/// The credential that proves an account to bind to.
package enum BindCredential: Sendable {
    /// An access token.
    case session([UInt8])
    case password(email: String, password: String)
    /// A code that was mailed to the account's address for this ticket.
    case emailCode(email: String, code: String)
    /// The ticket itself, which proves the mailbox of the account that its person has been shown.
    case ticket
}

/// What the bearer of a link ticket can do with it: make an account, bind to one, or cancel it.
package struct TicketLinking: Sendable {
    let tickets: LinkTickets
    let store: LinkStore
    let mailboxes: MailboxTicketStore
    let issuer: SessionIssuer
    // The features that prove an account.
    let sessions: Sessions
    let passwords: PasswordSignIn
    let emailCodes: EmailCodeSignIn
    let repetitions: RepeatedEvents
    let mailLanguages: MailLanguages
    let metrics: SignInMetrics
    let clock: any WallClock

    /// Makes an account for the ticket's person.
    ///
    /// - Parameter password: of the new account, for a ticket that a mailed code made.
    package func create(
        linkTicket: String, name: NewAccountName, password: String? = nil, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        try await metrics.links.counting(.create, as: .linked) { () throws(SignInFailure) in
            switch try await tickets.openAny(linkTicket, at: clock.now()) {
            case .identity(let hash, let ticket):
                guard password == nil else { throw .memberNotAllowed("password") }
                return try await createAccount(for: ticket, hash, name: name, client: client)
            case .mailbox(let hash, let ticket):
                return try await createAccount(
                    for: ticket, hash, name: name, password: password, client: client)
            }
        }
    }

    private func createAccount(
        for ticket: LinkTicket, _ hash: [UInt8], name: NewAccountName, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        let now = clock.now()
        let newSession = try issuer.newSession(
            authenticatedAt: ticket.identity.authenticatedAt, atProvider: ticket.identity.authenticatedAt,
            methods: [AuthenticationMethod(ticket.identity.key.provider)], client: client.with(ticket.device), now: now)
        let accountID = try AccountID.fresh(at: now)
        let identityID = try IdentityID.fresh(at: now)
        let outcome = try await stored {
            try await store.create(
                hash, accountID: accountID, identityID: identityID, name: name,
                for: .session(newSession), at: now, from: mailLanguages.origin(of: client))
        }
        switch outcome {
        case .created(let account):
            return try issuer.signedIn(account, identityID: identityID, newSession: newSession)
        case .ticketExpired: throw .linkTicketExpired
        case .emailTaken: throw .emailTaken
        case .identityAlreadyLinked: throw .identityAlreadyLinked
        }
    }

    private func createAccount(
        for ticket: MailboxTicket, _ hash: [UInt8], name: NewAccountName, password: String?, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        var passwordHash: String?
        if let password {
            try PasswordPolicy.require(password, for: ticket.email)
            passwordHash = try await passwords.hasher.hash(password, by: client)
        }
        let newSession = try newSession(for: ticket, client: client)
        let accountID = try AccountID.fresh(at: newSession.now)
        let outcome = try await stored {
            try await mailboxes.create(
                hash, accountID: accountID, passwordHash: passwordHash, displayName: name.chosen(over: nil),
                newSession: newSession, from: mailLanguages.origin(of: client))
        }
        return try signedIn(outcome, newSession)
    }

    /// Links the ticket's identity to the account that the credential proves. A ticket that a mailed code made takes over
    /// the account that its person has been shown.
    ///
    /// - Parameter replacing: whether another identity of the provider is replaced, and its authorization revoked.
    /// - Returns: `linkRequired` when a mailed code leads into an account that has yet to be shown.
    package func bind(
        linkTicket: String, credential: BindCredential, replacing: Bool = false, client: Client
    ) async throws(SignInFailure) -> SignInAnswer {
        try await metrics.links.counting(.bind, as: \.linkOutcomeLabel) { () throws(SignInFailure) in
            // The ticket first: it is cheap to check, a password is not.
            switch try await tickets.openAny(linkTicket, at: clock.now()) {
            case .identity(let hash, let ticket):
                do throws(SignInFailure) {
                    return .signedIn(
                        try await proveAndSpend(ticket, hash, by: credential, replacing: replacing, client: client))
                } catch .holderNotShown(let account) {
                    // The code was right: from now on the ticket is as good as the code.
                    try await tickets.show(account, toReaderWith: hash, at: clock.now())
                    return .linkRequired(
                        LinkRequired(
                            linkTicket: linkTicket, expiresAt: ticket.expiresAt, person: .identity(ticket.identity),
                            choices: [.bind, .create], holder: ShownHolder(account, .identities)))
                }
            case .mailbox(let hash, let ticket):
                guard case .ticket = credential else { throw .memberNotAllowed("linkTicket") }
                let newSession = try newSession(for: ticket, client: client)
                let outcome = try await stored {
                    try await mailboxes.bind(hash, newSession: newSession, from: mailLanguages.origin(of: client))
                }
                return .signedIn(try signedIn(outcome, newSession))
            }
        }
    }

    private func newSession(
        for ticket: MailboxTicket, client: Client
    ) throws(SignInFailure) -> NewSession {
        try issuer.newSession(
            authenticatedAt: ticket.authenticatedAt, methods: [.oneTimeCode], client: client.with(ticket.device),
            now: clock.now())
    }

    private func signedIn(
        _ outcome: MailboxTicketOutcome, _ newSession: NewSession
    ) throws(SignInFailure) -> SignedIn {
        switch outcome {
        case .signedIn(let account): return try issuer.signedIn(account, identityID: nil, newSession: newSession)
        case .ticketExpired: throw .linkTicketExpired
        case .holderChanged: throw .invalidCredentials
        case .emailTaken: throw .emailTaken
        case .accountDisabled: throw .accountDisabled
        }
    }

    private func proveAndSpend(
        _ ticket: LinkTicket, _ hash: [UInt8], by credential: BindCredential, replacing: Bool, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        let ownership = try await proveOwnership(by: credential, ticket, ticketHash: hash, client: client)
        do throws(SignInFailure) {
            return try await tickets.openSession(
                with: ticket, hash: hash, ownership: ownership, replacing: replacing, client: client, at: clock.now())
        } catch .proofNoLongerValid {
            switch credential {
            case .session: throw .invalidSession
            case .password, .emailCode, .ticket: throw .invalidCredentials
            }
        }
    }

    private func proveOwnership(
        by credential: BindCredential, _ ticket: LinkTicket, ticketHash: [UInt8], client: Client
    ) async throws(SignInFailure) -> ProvenOwnership {
        switch credential {
        case .ticket:
            guard let shown = ticket.shownHolder, ticket.provesShownMailbox else {
                throw .missingCredential("password")
            }
            return ProvenOwnership(
                proof: .shownHolder(shown.id),
                authenticatedAt: ticket.readMailbox?.provenAt ?? ticket.identity.authenticatedAt,
                methods: ticket.readMailbox == nil ? [] : [.oneTimeCode])
        case .session(let token):
            let session = try await sessions.session(of: token)
            guard session.isFresh(at: clock.now()) else { throw .reauthenticationRequired }
            return ProvenOwnership(
                proof: .session(session.id, of: session.accountID), authenticatedAt: session.authenticatedAt,
                methods: session.methods)
        case .password(let email, let password):
            let proven = try await passwords.provePassword(email: email, password: password, client: client)
            return ProvenOwnership(
                proof: .password(hash: proven.passwordHash, of: proven.accountID), authenticatedAt: clock.now(),
                methods: [.password])
        case .emailCode(let email, let typed):
            let code = try await emailCodes.proveCode(
                typed, for: .bind, of: EmailAddress(email), ticketHash: ticketHash, by: client)
            return ProvenOwnership(
                proof: .emailCode(code), authenticatedAt: clock.now(), methods: [.oneTimeCode])
        }
    }

    package func cancel(linkTicket: String, client: Client) async throws(SignInFailure) {
        guard let hash = OpaqueSecret.hash(ofPresented: linkTicket) else { return }
        let now = clock.now()
        let origin = mailLanguages.origin(of: client)
        let ofMailbox = AuditEvent(.linkCancelled, from: origin)
        guard try await !stored({ try await mailboxes.cancel(hash, at: now, recording: ofMailbox) }),
            let ticket = try await stored({ try await store.open(hash, at: now) })
        else { return }
        let key = ticket.identity.key
        let event = AuditEvent(.linkCancelled, from: origin, provider: key.provider)
        try await repetitions.recording(.cancelledTicket(key), at: now) { isRecorded throws(SignInFailure) in
            let isCancelled = try await stored {
                try await store.cancel(hash, at: now, recording: isRecorded ? event : nil)
            }
            return ((), isCancelled ? event : nil)
        }
    }
}

extension SignInAnswer {
    fileprivate var linkOutcomeLabel: OutcomeLabel {
        switch self {
        case .signedIn: OutcomeLabel(.linked)
        case .linkRequired: OutcomeLabel(.linkRequired)
        }
    }
}
