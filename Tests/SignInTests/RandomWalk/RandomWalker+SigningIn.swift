import Accounts
import JOSE
import SignIn
import TestSupport
import Testing

/// The operations that sign in, and those that spend tickets.
extension RandomWalker {
    mutating func perform(_ operation: WalkOperation) async throws {
        switch operation {
        case .signIn, .signInWithCode: try await signIn(withCode: operation == .signInWithCode)
        case .repostToken: try await repostToken()
        case .signInInBrowser: try await signInInBrowser()
        case .create: try await create()
        case .bindBySession: try await bind(.session(try anySession().bearer))
        case .bindByPassword:
            try await bind(.password(email: try anyAddress(), password: try one(of: WalkPerson.passwords)))
        case .bindByCode: try await bindByCode()
        case .bindToShown: try await bindToShown()
        case .cancel: try await world.service.tickets.cancel(linkTicket: try anyTicket(), by: call)
        case .register: try await register()
        case .signInByPassword: try await signInByPassword()
        case .signInByCode: try await signInByCode()
        case .resetPassword: try await resetPassword()
        case .changePassword: try await changePassword()
        case .requestEmail: try await requestEmail()
        case .verifyEmail: try await verifyEmail()
        case .rename: try await rename()
        case .link: try await link()
        case .unlink: try await unlink()
        case .deleteAccount:
            try await world.service.accounts.delete(accountOf: try await liveSession(), by: call)
            world.memory.note(.accountDeleted, by: client.requestID)
        case .refresh, .refreshStale: try await refresh(isStale: operation == .refreshStale)
        case .revokeSessions:
            try await world.service.sessions.revoke(
                try one(of: RevocationScope.allCases), of: try await liveSession(), by: call)
        case .endSession: try await endSession()
        case .linkClient: try await linkClient()
        case .refreshAsClient: try await refreshAsClient()
        case .disable: try await disable()
        case .enable: try await enable()
        case .replaceEmail: try await replaceEmail()
        case .unblock: try await unblock()
        case .revokeByOperator: try await revokeByOperator()
        case .deliverEvent: try await deliverEvent()
        case .withdraw: try await withdraw()
        case .revokeDue:
            for provider in Provider.allCases { _ = try await world.revocations.attemptDue(at: provider) }
        case .sweep: try await sweep()
        case .passTime: try passTime()
        }
    }

    // MARK: With a provider

    private mutating func signIn(withCode: Bool) async throws {
        let (provider, credential) = try credential(withCode: withCode)
        try await post(provider, credential)
    }

    private mutating func repostToken() async throws {
        let (provider, token) = try one(of: world.memory.read(\.tokens))
        try await post(provider, ProviderCredential(token: token))
    }

    private func post(_ provider: Provider, _ credential: ProviderCredential) async throws {
        note(try await world.service.providers.signIn(with: provider, credential, by: call), with: provider)
    }

    /// - Parameter provider: whose word it was, if it was a provider's.
    func note(_ answer: SignInAnswer, with provider: Provider?) {
        switch answer {
        case .signedIn(let signedIn):
            if signedIn.identity?.key.provider != provider { world.memory.note(fault: "signed in as somebody else") }
            world.memory.remember(signedIn)
            world.memory.note(.signedIn, by: client.requestID)
            if provider != nil { world.memory.note(WalkReport.Entry(requestID: client.requestID, isByToken: true)) }
        case .linkRequired(let required):
            world.memory.remember(required)
            world.memory.note(.linkRequired, by: client.requestID)
        }
    }

    /// A credential as the provider's SDK gives it to a person.
    mutating func credential(withCode: Bool) throws -> (Provider, ProviderCredential) {
        let person = try anyPerson()
        let provider = try one(of: Provider.allCases)
        let subject = person.subject(provider, Int.random(in: 1...2, using: &random))
        let email = try one(of: WalkEmail.allCases)
        let claims = email.claims(of: person, besides: try anyPerson(), at: provider)
        let token = try WalkWorld.token(provider, subject, claims, at: world.clock.now())
        let isAlone = withCode && chance(1, of: 4)
        if !isAlone {
            world.memory.remember(token, of: provider)
            if let proven = email.proven(of: person, at: provider) { world.memory.note(claim: proven, of: subject) }
        }
        return (
            provider,
            ProviderCredential(
                token: isAlone ? nil : token, code: withCode ? world.providers.code(provider, subject) : nil,
                fullName: chance(1, of: 4) ? DisplayName(person.name) : nil)
        )
    }

    // MARK: With a ticket

    private mutating func create() async throws {
        let ticket = try anyTicket()
        let mailbox = world.memory.read { $0.mailboxes[ticket] }
        let password = mailbox != nil && chance(1, of: 2) ? try one(of: WalkPerson.passwords) : nil
        try await spend(ticket) { walker in
            let created = try await walker.world.service.tickets.create(
                linkTicket: ticket, name: .ofProvider, password: password, by: walker.call)
            walker.world.memory.remember(created, by: ticket)
            return true
        }
        noteMailboxes(of: ticket, mailbox)
        world.memory.note(.accountCreated, by: client.requestID)
        world.memory.note(.signedIn, by: client.requestID)
    }

    /// The ticket, which is spent, has proven these mailboxes.
    private func noteMailboxes(of ticket: String, _ own: String?) {
        let read = world.memory.read { $0.read[ticket] ?? [] }
        for address in read.union(own.map { [$0] } ?? []) { world.memory.note(code: address, by: client.requestID) }
    }

    private mutating func bind(_ credential: BindCredential) async throws {
        guard try await bind(try anyTicket(), credential) else {
            world.memory.note(fault: "a bind by a session or a password has shown an account")
            return
        }
        world.memory.note(.identityLinked, by: client.requestID)
        world.memory.note(.signedIn, by: client.requestID)
    }

    private mutating func bindByCode() async throws {
        let ticket = try anyTicket()
        let address = try anyAddress()
        let code = try await code(.bind, to: address, linkTicket: ticket)
        let credential = BindCredential.emailCode(email: address, code: code.digits)
        // Before the call: another walker may spend the ticket as soon as it is a proof.
        world.memory.remember(address, readWith: ticket)
        // Who is shown an account mostly takes it over at once.
        var isBound = try await bind(ticket, credential)
        if !isBound, chance(3, of: 4) { isBound = try await bind(ticket, credential) }
        guard isBound else { return }
        world.memory.used(code: code.id)
        world.memory.note(code: address, by: client.requestID)
        world.memory.note(WalkReport.Entry(requestID: client.requestID, ticket: ticket))
        world.memory.note(.identityLinked, by: client.requestID)
        world.memory.note(.signedIn, by: client.requestID)
    }

    private mutating func bindToShown() async throws {
        let shown = world.memory.read { memory in memory.tickets.filter { memory.shown[$0] != nil } }
        let ticket = chance(7, of: 8) ? try one(of: shown) : try anyTicket()
        let mailbox = world.memory.read { $0.mailboxes[ticket] }
        guard try await bind(ticket, .ticket) else {
            world.memory.note(fault: "a bind by the ticket alone has shown an account")
            return
        }
        noteMailboxes(of: ticket, mailbox)
        world.memory.note(WalkReport.Entry(requestID: client.requestID, ticket: ticket))
        if mailbox == nil { world.memory.note(.identityLinked, by: client.requestID) }
        world.memory.note(.signedIn, by: client.requestID)
    }

    /// - Returns: whether the ticket is spent; else an account was shown.
    private mutating func bind(_ ticket: String, _ credential: BindCredential) async throws -> Bool {
        let isReplacing = chance(1, of: 2)
        var isBound = false
        try await spend(ticket) { walker in
            let answer = try await walker.world.service.tickets.bind(
                linkTicket: ticket, credential: credential, replacing: isReplacing, by: walker.call)
            switch answer {
            case .signedIn(let bound):
                walker.world.memory.remember(bound, by: ticket)
                isBound = true
            case .linkRequired(let required):
                if required.linkTicket != ticket { walker.world.memory.note(fault: "another ticket was answered") }
                walker.world.memory.remember(shown: required)
            }
            return isBound
        }
        return isBound
    }

    // MARK: With a password or a mailed code

    private mutating func register() async throws {
        let registered = try await world.service.passwords.register(
            email: try anyAddress(), password: try one(of: WalkPerson.passwords), displayName: nil, by: call)
        world.memory.note(.accountCreated, by: client.requestID)
        world.memory.note(.signedIn, by: client.requestID)
        world.memory.remember(registered)
    }

    private mutating func signInByPassword() async throws {
        world.memory.remember(
            try await world.service.passwords.signIn(
                email: try anyAddress(), password: try one(of: WalkPerson.passwords), by: call))
        world.memory.note(.signedIn, by: client.requestID)
    }

    private mutating func signInByCode() async throws {
        let address = try anyAddress()
        let code = try await code(.signIn, to: address)
        let answer = try await world.service.emailCodes.signIn(email: address, code: code.digits, by: call)
        world.memory.used(code: code.id)
        switch answer {
        case .signedIn(let signedIn):
            world.memory.remember(signedIn)
            world.memory.note(code: address, by: client.requestID)
            world.memory.note(WalkReport.Entry(requestID: client.requestID))
            world.memory.note(.signedIn, by: client.requestID)
        case .linkRequired(let required):
            world.memory.remember(required)
            world.memory.note(.linkRequired, by: client.requestID)
        }
    }

    private mutating func resetPassword() async throws {
        let address = try anyAddress()
        let code = try await code(.resetPassword, to: address)
        try await world.service.emailCodes.resetPassword(
            email: address, code: code.digits, newPassword: try one(of: WalkPerson.passwords), by: call)
        world.memory.used(code: code.id)
        world.memory.note(code: address, by: client.requestID)
        world.memory.note(WalkReport.Entry(requestID: client.requestID))
        world.memory.note(.passwordReset, by: client.requestID)
    }

    /// A code from the mailbox, mailed just now or before; at times mistyped, and then wrong.
    mutating func code(
        _ purpose: EmailCodePurpose, to address: String, linkTicket: String? = nil
    ) async throws -> MailedCode {
        if chance(2, of: 3) {
            try await world.service.emailCodes.mailCode(to: address, for: purpose, linkTicket: linkTicket, by: call)
        }
        let mailed = try await MailedCode.read(
            purpose, to: address, linkTicket: linkTicket, at: world.clock.now(), from: world.database,
            keyRing: world.keyRing)
        guard let mailed else { throw Idle() }
        return chance(1, of: 8) ? MailedCode(id: mailed.id, digits: String(mailed.digits.reversed())) : mailed
    }
}
