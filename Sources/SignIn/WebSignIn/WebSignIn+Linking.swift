package import Accounts
import Logging
import Storage

/// *Create* and *bind* on our own page, in a flow that ends here. The ticket never leaves the server.
extension WebSignIn {
    /// - Parameters:
    ///   - displayName: what is left of the name that was shown; `nil` for none.
    ///   - password: of the new account, for a ticket that a mailed code made.
    package func create(
        in reference: FlowReference, displayName: DisplayName?, password: String? = nil, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await takingForm(.link, in: reference, by: call) { () throws(SignInFailure) in
            let (flow, ticket) = try await readLinking(reference, by: call)
            let signedIn = try await linking.create(
                linkTicket: ticket, name: .typed(displayName), password: password, by: call)
            return try await enter(flow, signedIn, answering: reference, by: call)
        }
    }

    /// - Parameter replacing: whether another identity of the provider is replaced.
    package func bind(
        in reference: FlowReference, credential: BindCredential, replacing: Bool = false, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await takingForm(.link, in: reference, by: call) { () throws(SignInFailure) in
            let (flow, ticket) = try await readLinking(reference, by: call)
            // Who clicks twice has seen the account that the first click leads to as little as before.
            let answer = try await linking.bind(
                linkTicket: ticket, credential: credential, replacing: replacing, asking: true, by: call)
            switch answer {
            case .signedIn(let signedIn): return try await enter(flow, signedIn, answering: reference, by: call)
            case .linkRequired(let link): return .confirm(try await page(of: flow, link: link, by: call))
            }
        }
    }

    /// Binds to the account that is shown by an identity of it. Another identity changes nothing.
    ///
    /// - Parameters:
    ///   - replaced: the identity in whose place the ticket's is to be, as the person said before they left.
    ///   - reference: with the provider's answer that has proven the person.
    func prove(
        _ flow: StoredWebFlow, _ ticket: String, by person: ProvenPerson, replacing replaced: IdentityID?,
        answering reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        let identity: VerifiedIdentity
        let grant: NewGrant?
        let holder: AccountID
        let isReplacing: Bool
        do throws(SignInFailure) {
            let link = try await linkRequired(ticket, by: call)
            guard case .identity(let own, let ownGrant, _) = person, let shown = link.holder?.account,
                shown.identities.contains(where: { $0.key == own.key })
            else { throw .invalidCredentials }
            (identity, grant, holder) = (own, ownGrant, shown.id)
            // One that has come meanwhile is not the one that they have seen.
            isReplacing = replaced != nil && link.conflicting?.id == replaced
        } catch {
            await credentials.abandon(person, after: error, by: call)
            guard case .invalidCredentials = error else { throw error }
            return try await unproven(flow, .otherIdentity, by: call)
        }
        let bound: SignedIn
        do throws(SignInFailure) {
            guard
                case .signedIn(let proof) = try await persons.signIn(
                    .identity(identity, grant: grant, displayName: nil), by: call),
                case .signedIn(let signedIn) = try await bind(
                    ticket, to: holder, provenBy: proof, replacing: isReplacing, by: call)
            else { throw .invalidCredentials }
            bound = signedIn
        } catch .providerAlreadyLinked(let existing) {
            return try await unproven(flow, .conflict(existing, provenBy: identity.key.provider), by: call)
        } catch {
            return try await unproven(flow, .refused(error), by: call)
        }
        return try await enter(flow, bound, answering: reference, by: call)
    }

    /// The session that proves the account is ended, whatever comes of it: the browser has the one that *bind* opens. It proves
    /// nothing if the identity was moved to another account since that was shown.
    private func bind(
        _ ticket: String, to holder: AccountID, provenBy proof: SignedIn, replacing: Bool, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        let token = Array(proof.session.accessToken.utf8)
        let answer: Result<SignInAnswer, SignInFailure>
        do throws(SignInFailure) {
            guard proof.account.id == holder else { throw .invalidCredentials }
            answer = .success(
                try await linking.bind(linkTicket: ticket, credential: .session(token), replacing: replacing, by: call))
        } catch {
            answer = .failure(error)
        }
        do throws(SignInFailure) {
            let session = try await sessions.sessions.session(of: token, by: call)
            try await sessions.sessions.revoke(.current, of: session, by: call)
        } catch .invalidSession {
            // It was of the identity that was replaced, and went with it.
        } catch {
            // What has been linked stays.
            logger.warning("session that proved an account not ended", metadata: ["sessionId": "\(proof.session.id)"])
        }
        return try answer.get()
    }

    /// Back to the choice, where the ticket is as good as before.
    func unproven(
        _ flow: StoredWebFlow, _ reason: UnprovenReason, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        guard try await resume(flow) else { throw .webFlowExpired }
        return .unproven(try await page(of: flow, as: .linking, by: call), reason)
    }

    /// Mails a code that proves the account to bind to.
    package func mailBindCode(
        to email: String, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) {
        try await steps.counting(.mailCode) { () throws(SignInFailure) in
            let ticket = try await readLinking(reference, by: call).ticket
            try await emailCodes.mailCode(to: email, for: .bind, linkTicket: ticket, by: call)
        }
    }

    /// Gives the ticket up: the person chooses once more how to sign in.
    package func cancelLink(in reference: FlowReference, by call: Call) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.link, as: \.stepOutcome) { () throws(SignInFailure) in
            let ticket = try await readLinking(reference, by: call).ticket
            try await linking.cancel(linkTicket: ticket, by: call)
            let flow = try await stored { try await store.reopen(reference.id, of: reference.browser.hash, by: call) }
            guard let flow else { throw .webFlowExpired }
            return .choose(try await page(of: flow, by: call))
        }
    }

    private func readLinking(
        _ reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> (flow: StoredWebFlow, ticket: String) {
        let flow = try await read(reference, by: call)
        let ticket = try flow.ticket(for: reference)
        // The person has come back from a provider by themselves.
        if flow.status != .linking {
            guard try await resume(flow) else { throw .webFlowExpired }
        }
        return (flow, ticket)
    }

    /// Goes on with the choice of a person who was sent to a provider to prove an account.
    private func resume(_ flow: StoredWebFlow) async throws(SignInFailure) -> Bool {
        try await stored { try await store.resumeLinking(flow.id) }
    }

    /// What the person of a ticket has to choose, as of now. What it shows of an account is kept as shown.
    func linkRequired(_ ticket: String, by call: Call) async throws(SignInFailure) -> LinkRequired {
        switch try await tickets.open(ticket, by: call) {
        case .identity(let hash, let opened):
            let shown = try await self.shown(by: opened)
            if let account = shown.account, shown.view == .identities, opened.shownHolder?.covers(account) != true {
                try await tickets.show(account, to: hash, by: call)
            }
            return LinkRequired(
                linkTicket: ticket, expiresAt: opened.expiresAt, person: .identity(opened.identity),
                choices: shown.choices, holder: shown.account.flatMap { ShownHolder($0, shown.view) },
                suggestedName: opened.displayName)
        case .mailbox(let hash, let opened, let before):
            let shown = try await self.shown(by: opened, before)
            if let account = shown.account, shown.view == .identities, !before.covers(account) {
                try await stored { try await tickets.mailboxes.show(ShownAccount(account), to: hash, by: call) }
            }
            return LinkRequired(
                linkTicket: ticket, expiresAt: opened.expiresAt, person: .mailbox(opened.email),
                choices: shown.choices, holder: shown.account.flatMap { ShownHolder($0, shown.view) })
        }
    }

    private func shown(
        by ticket: LinkTicket
    ) async throws(SignInFailure) -> (account: Account?, choices: [LinkChoice], view: HolderView) {
        if let shown = ticket.shownHolder,
            let account = try await stored({ try await accounts.account(shown.id) }),
            try await opens(account, by: ticket)
        {
            return (account, [.bind, .create], .identities)
        }
        var holder: Account?
        if let candidate = ticket.identity.email?.candidate {
            holder = try await stored { try await accounts.holder(of: candidate) }
        }
        guard
            case .linkRequired(let choices, let view) = Linking.decide(ticket.identity, holder: holder, policy: .prompt)
        else { throw .fault(operation: "decide") }
        // The ticket alone opens it no more.
        if view == .identities, let holder, try await !opens(holder, by: ticket) {
            let left = Linking.withoutProof(of: holder)
            return (holder, left.choices, left.view)
        }
        return (holder, choices, view)
    }

    /// - Parameter before: what the person has been shown so far.
    private func shown(
        by ticket: MailboxTicket, _ before: ShownAccount
    ) async throws(SignInFailure) -> (account: Account?, choices: [LinkChoice], view: HolderView) {
        let holder = try await stored { try await accounts.holder(of: ticket.email) }
        let isRefused = Linking.decideCreate(ticket.email, .mailedCode, holder: holder) == .refusedEmailTaken
        let choices: [LinkChoice] = isRefused ? [] : [.create]
        guard let holder else { return (nil, choices, .nothing) }
        guard try await opens(holder, by: ticket, before) else {
            return (holder, choices, Linking.withoutProof(of: holder).view)
        }
        return (holder, [LinkChoice.bind] + choices, .identities)
    }

    /// Whether *bind* by the ticket alone opens an account once it has been shown, as that is now.
    private func opens(_ account: Account, by ticket: LinkTicket) async throws(SignInFailure) -> Bool {
        guard ticket.outcome(ofShown: account) != nil else { return false }
        let since = ticket.evidence(of: account.email).since
        return try await stored { try await accounts.isCurrent(since, for: account.id) }
    }

    /// The same of a mailed code's ticket. A proven address that another account has by now leads there no more than it would
    /// without being shown.
    private func opens(
        _ account: Account, by ticket: MailboxTicket, _ before: ShownAccount
    ) async throws(SignInFailure) -> Bool {
        guard account.id == before.id || account.emailProof == .stated, ticket.outcome(ofShown: account) != nil else {
            return false
        }
        return try await stored { try await accounts.isCurrent(ticket.authenticatedAt, for: account.id) }
    }
}

extension StoredWebFlow {
    /// The ticket that the person of a form decides about.
    ///
    /// - Throws: `webFlowExpired` where the flow has none by now, or another one than the form's page has shown.
    func ticket(for reference: FlowReference) throws(SignInFailure) -> String {
        guard let ticket = linkTicket, reference.input == nil || reference.ticket == LinkTicketName(of: ticket) else {
            throw .webFlowExpired
        }
        return ticket
    }
}
