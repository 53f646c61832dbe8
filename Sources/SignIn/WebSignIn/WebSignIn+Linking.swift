package import Accounts
import Storage

/// *Create* and *bind* on our own page, in a flow that ends here. The ticket never leaves the server.
extension WebSignIn {
    /// - Parameters:
    ///   - displayName: what is left of the name that was shown; `nil` for none.
    ///   - password: of the new account, for a ticket that a mailed code made.
    package func create(
        flow id: WebFlowID, browser: BrowserSecret?, displayName: DisplayName?, password: String? = nil,
        client: Client
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.link, as: \.stepOutcome) { () throws(SignInFailure) in
            let (flow, ticket) = try await readLinking(id, browser: browser)
            let signedIn = try await linking.create(
                linkTicket: ticket, name: .typed(displayName), password: password, client: client.with(.browser))
            return try await enter(flow, signedIn)
        }
    }

    /// - Parameter replacing: whether another identity of the provider is replaced.
    package func bind(
        flow id: WebFlowID, browser: BrowserSecret?, credential: BindCredential, replacing: Bool = false,
        client: Client
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.link, as: \.stepOutcome) { () throws(SignInFailure) in
            let (flow, ticket) = try await readLinking(id, browser: browser)
            let answer = try await linking.bind(
                linkTicket: ticket, credential: credential, replacing: replacing, client: client.with(.browser))
            switch answer {
            case .signedIn(let signedIn): return try await enter(flow, signedIn)
            case .linkRequired(let link): return .link(try await page(of: flow, link: link))
            }
        }
    }

    /// Mails a code that proves the account to bind to.
    package func mailBindCode(
        to email: String, flow id: WebFlowID, browser: BrowserSecret?, client: Client
    ) async throws(SignInFailure) {
        try await steps.counting(.mailCode) { () throws(SignInFailure) in
            let ticket = try await readLinking(id, browser: browser).ticket
            try await emailCodes.mailCode(to: email, for: .bind, linkTicket: ticket, client: client)
        }
    }

    /// Gives the ticket up: the person chooses once more how to sign in.
    package func cancelLink(
        flow id: WebFlowID, browser: BrowserSecret?, client: Client
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.link, as: \.stepOutcome) { () throws(SignInFailure) in
            let ticket = try await readLinking(id, browser: browser).ticket
            try await linking.cancel(linkTicket: ticket, client: client)
            guard let browser,
                let flow = try await stored({ try await store.reopen(id, of: browser.hash, at: clock.now()) })
            else { throw .webFlowExpired }
            return .choose(try await page(of: flow))
        }
    }

    private func readLinking(
        _ id: WebFlowID, browser: BrowserSecret?
    ) async throws(SignInFailure) -> (flow: StoredWebFlow, ticket: String) {
        let flow = try await read(id, browser: browser)
        guard flow.status == .linking, let ticket = flow.linkTicket else { throw .webFlowExpired }
        return (flow, ticket)
    }

    /// What the person of a ticket has to choose, as of now. What it shows of an account is kept as shown.
    func linkRequired(_ ticket: String) async throws(SignInFailure) -> LinkRequired {
        let now = clock.now()
        switch try await tickets.openAny(ticket, at: now) {
        case .identity(let hash, let opened):
            let shown = try await self.shown(by: opened)
            if let account = shown.account, shown.view == .identities, opened.shownHolder?.covers(account) != true {
                try await tickets.show(account, to: hash, at: now)
            }
            return LinkRequired(
                linkTicket: ticket, expiresAt: opened.expiresAt, person: .identity(opened.identity),
                choices: shown.choices, holder: shown.account.flatMap { ShownHolder($0, shown.view) },
                suggestedName: opened.displayName)
        case .mailbox(_, let opened):
            let holder = try await stored { try await accounts.holder(of: opened.email) }
            return LinkRequired(
                linkTicket: ticket, expiresAt: opened.expiresAt, person: .mailbox(opened.email),
                choices: [.bind, .create], holder: holder.flatMap { ShownHolder($0, .identities) })
        }
    }

    private func shown(
        by ticket: LinkTicket
    ) async throws(SignInFailure) -> (account: Account?, choices: [LinkChoice], view: HolderView) {
        if let shown = ticket.shownHolder,
            let account = try await stored({ try await accounts.account(shown.id) })
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
        return (holder, choices, view)
    }
}
