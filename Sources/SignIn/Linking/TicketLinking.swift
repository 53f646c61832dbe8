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
    let metrics: SignInMetrics

    /// Makes an account for the ticket's person.
    ///
    /// - Parameter password: of the new account, for a ticket that a mailed code made.
    package func create(
        linkTicket: String, name: NewAccountName, password: String? = nil, by call: Call
    ) async throws(SignInFailure) -> SignedIn {
        try await metrics.links.counting(.create, as: .linked) { () throws(SignInFailure) in
            switch try await tickets.open(linkTicket, by: call) {
            case .identity(let hash, let ticket):
                guard password == nil else { throw .memberNotAllowed("password") }
                return try await createAccount(for: ticket, hash, name: name, by: call)
            case .mailbox(let hash, let ticket, _):
                return try await createAccount(for: ticket, hash, name: name, password: password, by: call)
            }
        }
    }

    private func createAccount(
        for ticket: LinkTicket, _ hash: SecretHash, name: NewAccountName, by call: Call
    ) async throws(SignInFailure) -> SignedIn {
        let newSession = try issuer.newSession(
            authenticatedAt: ticket.identity.authenticatedAt, atProvider: ticket.identity.authenticatedAt,
            methods: [AuthenticationMethod(ticket.identity.key.provider)], by: call.with(ticket.device))
        let accountID = try AccountID.fresh(at: call.now)
        let identityID = try IdentityID.fresh(at: call.now)
        let account = try await stored {
            try await store.create(
                hash, accountID: accountID, identityID: identityID, name: name,
                for: .session(newSession), by: call)
        }
        return try issuer.signedIn(account, identityID: identityID, newSession: newSession)
    }

    private func createAccount(
        for ticket: MailboxTicket, _ hash: SecretHash, name: NewAccountName, password: String?, by call: Call
    ) async throws(SignInFailure) -> SignedIn {
        let newSession = try newSession(for: ticket, by: call)
        var passwordHash: PasswordHash?
        if let password {
            try PasswordPolicy.require(password, for: ticket.email)
            passwordHash = try await passwords.hasher.hash(password, by: call)
        }
        let accountID = try AccountID.fresh(at: newSession.now)
        let account = try await stored {
            try await mailboxes.create(
                hash, accountID: accountID, passwordHash: passwordHash, displayName: name.chosen(over: nil),
                newSession: newSession, by: call)
        }
        return try issuer.signedIn(account, identityID: nil, newSession: newSession)
    }

    /// Links the ticket's identity to the account that the credential proves. A ticket that a mailed code made takes over
    /// the account that its person has been shown.
    ///
    /// - Parameters:
    ///   - replacing: whether another identity of the provider is replaced, and its authorization revoked.
    ///   - asking: whether a mailed code only ever leads to the question whether an account is theirs, and the ticket alone
    ///     takes that over.
    /// - Returns: `linkRequired` when a mailed code leads into an account that has yet to be shown.
    package func bind(
        linkTicket: String, credential: BindCredential, replacing: Bool = false, asking: Bool = false, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        try await metrics.links.counting(.bind, as: \.linkOutcomeLabel) { () throws(SignInFailure) in
            // The ticket first: it is cheap to check, a password is not.
            switch try await tickets.open(linkTicket, by: call) {
            case .identity(let hash, let ticket):
                do throws(SignInFailure) {
                    return .signedIn(
                        try await proveAndSpend(
                            ticket, hash, by: credential, replacing: replacing, asking: asking, by: call))
                } catch .holderNotShown(let account) {
                    // The code was right: from now on the ticket is as good as the code.
                    try await tickets.show(account, toReaderWith: hash, by: call)
                    return .linkRequired(
                        LinkRequired(
                            linkTicket: linkTicket, expiresAt: ticket.expiresAt, person: .identity(ticket.identity),
                            choices: [.bind, .create], holder: ShownHolder(account, .identities)))
                }
            case .mailbox(let hash, let ticket, _):
                guard case .ticket = credential else { throw .memberNotAllowed("linkTicket") }
                let newSession = try newSession(for: ticket, by: call)
                let account = try await emailCodes.refusals.notingDisabledAccount(with: ticket.email, by: call) {
                    () throws(SignInFailure) in
                    try await stored { try await mailboxes.bind(hash, newSession: newSession, by: call) }
                }
                return .signedIn(try issuer.signedIn(account, identityID: nil, newSession: newSession))
            }
        }
    }

    private func newSession(for ticket: MailboxTicket, by call: Call) throws(SignInFailure) -> NewSession {
        try issuer.newSession(
            authenticatedAt: ticket.authenticatedAt, methods: [.oneTimeCode], by: call.with(ticket.device))
    }

    private func proveAndSpend(
        _ ticket: LinkTicket, _ hash: SecretHash, by credential: BindCredential, replacing: Bool, asking: Bool,
        by call: Call
    ) async throws(SignInFailure) -> SignedIn {
        try issuer.requireSigner(by: call)
        let ownership = try await proveOwnership(by: credential, ticket, ticketHash: hash, asking: asking, by: call)
        do throws(SignInFailure) {
            return try await tickets.openSession(
                with: ticket, hash: hash, ownership: ownership, replacing: replacing, by: call)
        } catch .proofNoLongerValid {
            switch credential {
            case .session: throw .invalidSession
            case .password, .emailCode, .ticket: throw .invalidCredentials
            }
        } catch .accountDisabled {
            switch ownership.proof {
            case .session(_, of: let id), .password(hash: _, of: let id), .shownHolder(let id):
                emailCodes.refusals.noteDisabledAccount(id, by: call)
            case .emailCode(let code, takesOverShown: _):
                emailCodes.refusals.noteDisabledAccount(with: code.email, by: call)
            case .verifiedEmail: break
            }
            throw .accountDisabled
        }
    }

    private func proveOwnership(
        by credential: BindCredential, _ ticket: LinkTicket, ticketHash: SecretHash, asking: Bool, by call: Call
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
            let session = try await sessions.session(of: token, by: call)
            try session.requireFresh(by: call)
            return ProvenOwnership(
                proof: .session(session.id, of: session.accountID), authenticatedAt: session.authenticatedAt,
                methods: session.methods)
        case .password(let email, let password):
            let proven = try await passwords.provePassword(email: email, password: password, by: call)
            return ProvenOwnership(
                proof: .password(hash: proven.passwordHash, of: proven.accountID), authenticatedAt: call.now,
                methods: [.password])
        case .emailCode(let email, let typed):
            let code = try await emailCodes.proveCode(
                typed, for: .bind, of: EmailAddress.existing(email), ticketHash: ticketHash, by: call)
            return ProvenOwnership(
                proof: .emailCode(code, takesOverShown: !asking), authenticatedAt: call.now, methods: [.oneTimeCode])
        }
    }

    package func cancel(linkTicket: String, by call: Call) async throws(SignInFailure) {
        guard let hash = OpaqueSecret.hash(ofPresented: linkTicket) else { return }
        let origin = call.origin
        let ofMailbox = AuditEvent(.linkCancelled, from: origin)
        guard try await !stored({ try await mailboxes.cancel(hash, by: call, recording: ofMailbox) }),
            let ticket = try await stored({ try await store.open(hash, by: call) })
        else { return }
        let key = ticket.identity.key
        let event = AuditEvent(.linkCancelled, from: origin, provider: key.provider)
        try await repetitions.recording(.cancelledTicket(key), by: call) { isRecorded throws(SignInFailure) in
            let isCancelled = try await stored {
                try await store.cancel(hash, by: call, recording: isRecorded ? event : nil)
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
