package import Accounts
import Primitives
import Storage

/// Codes by mail: requesting one, and what it proves. Neither the answer nor its timing depends on whether an account has
/// the address.
package struct EmailCodeSignIn: Sendable {
    let store: EmailCodeStore
    let accounts: AccountStore
    let tickets: LinkTickets
    let codes: EmailCodes
    let issuer: SessionIssuer
    let hasher: PasswordHasher
    let limits: RateLimiter
    let refusals: RefusalAggregator
    let metrics: SignInMetrics
    /// Those for one address wait for each other in the database, each with a connection: so few of them are there at once.
    let requests = KeyedValues<EmailAddress, FairLimit<Party>> { _ in FairLimit(running: 2, waiting: 64) }
    /// A quarter of them all, or one network would keep the owner from asking.
    private static let placesOfNetwork = 16

    /// Mails a code to the address, if an account has it: a new one, or the live one once more. What is mailed, if
    /// anything, shows in no answer.
    ///
    /// - Parameter linkTicket: the ticket that a code for *bind* is going to be used with. One of a mailbox takes none.
    package func mailCode(
        to email: String, for purpose: EmailCodePurpose, linkTicket: String? = nil, by call: Call
    ) async throws(SignInFailure) {
        guard call.origin.mailLanguage != nil else { throw .mailUnavailable }
        guard let address = EmailAddress.existing(email) else { throw .malformedEmail }
        guard let linkTicket else {
            return try await mailCode(to: address, for: purpose, ticketHash: nil, by: call)
        }
        guard case .identity(let hash, let ticket) = try await tickets.open(linkTicket, by: call) else {
            throw .memberNotAllowed("linkTicket")
        }
        try await mailCode(to: address, for: purpose, ticketHash: hash, until: ticket.expiresAt, by: call)
    }

    /// - Parameters:
    ///   - ticketHash: of the link ticket or the flow that the code belongs to, if it is for *bind* or *register*: of several
    ///     for an address each is of its own.
    ///   - end: of what it belongs to, which the code doesn't outlive.
    func mailCode(
        to address: EmailAddress, for purpose: EmailCodePurpose, ticketHash: SecretHash?, until end: Timestamp? = nil,
        by call: Call
    ) async throws(SignInFailure) {
        guard let language = call.origin.mailLanguage else { throw .mailUnavailable }
        try await limits.drawNetworks(.mailPerNetwork, by: call)
        let request = try codes.request(
            for: address, purpose: purpose, ticketHash: ticketHash, until: end, network: call.caller.network,
            language: language, by: call)
        let asked: Void? = try await requests.use(address) { limit throws(SignInFailure) in
            try await limit.admit(call.caller.shares(network: Self.placesOfNetwork, of: nil)) {
                () throws(SignInFailure) in
                try await mailCode(request, by: call)
            }
        }
        guard asked != nil else { throw .overloaded(retryAfter: 1) }
        refusals.note(.codeRequested, reason: purpose.rawValue, by: call)
    }

    private func mailCode(_ request: EmailCodeRequest, by call: Call) async throws(SignInFailure) {
        let isNew = try await stored { try await store.needsAllowance(request, by: call) }
        let decision = try await mailCode(request, isNew: isNew, by: call)
        // The live one was used, or its tries used up, since it was looked at.
        if decision == .needsAllowance { _ = try await mailCode(request, isNew: true, by: call) }
    }

    private func mailCode(
        _ request: EmailCodeRequest, isNew: Bool, by call: Call
    ) async throws(SignInFailure) -> EmailCodeRequestDecision {
        try await limits.drawingCode(for: request.code.email, isNew: isNew, by: call) {
            $0 != .nothing
        } _: { allowance throws(SignInFailure) -> EmailCodeRequestDecision in
            var request = request
            request.isServiceGuessedAt = try await limits.isServiceGuessedAt()
            return try await stored { [request] in
                try await store.request(request, allowance: allowance, by: call)
            }
        }
    }

    /// - Returns: `linkRequired` where the account's address is only stated: the reader of the mailbox sees who is in the
    ///   account, and chooses.
    package func signIn(email: String, code typed: String, by call: Call) async throws(SignInFailure) -> SignInAnswer {
        try await signIn(by: try await beginSignIn(email: email, code: typed, by: call), provenAt: call.now, by: call)
    }

    /// Proves the code of a sign-in. What is refused counts as one; what is right counts when it is spent.
    ///
    /// - Parameter opensSession: whether this very call opens it: no try is used up while none can be opened.
    func beginSignIn(
        email: String, code typed: String, opensSession: Bool = true, by call: Call
    ) async throws(SignInFailure) -> EmailCode {
        try await metrics.signIns.countingFailure(of: .emailCode) { () throws(SignInFailure) in
            if opensSession { try issuer.requireSigner(by: call) }
            return try await proveCode(typed, for: .signIn, of: EmailAddress.existing(email), by: call)
        }
    }

    /// Signs in by a code that was right before, and spends it.
    func signIn(by code: EmailCode, provenAt: Timestamp, by call: Call) async throws(SignInFailure) -> SignInAnswer {
        try await metrics.signIns.counting(.emailCode, as: \.outcomeLabel) { () throws(SignInFailure) in
            try await openSession(by: code, provenAt: provenAt, by: call)
        }
    }

    private func openSession(
        by code: EmailCode, provenAt: Timestamp, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        let newSession = try issuer.newSession(authenticatedAt: provenAt, methods: [.oneTimeCode], by: call)
        // Made beforehand: which of the two it comes to is decided where the account is locked.
        let secret = try OpaqueSecret.fresh()
        let ticket = MailboxTicket(
            email: code.email, device: call.caller.device, authenticatedAt: provenAt, createdAt: call.now,
            expiresAt: call.now.advanced(bySeconds: Lifetimes.linkTicketSeconds))
        let outcome = try await refusals.notingDisabledAccount(with: code.email, by: call) {
            () throws(SignInFailure) in
            try await stored {
                try await accounts.signIn(by: code, newSession: newSession, else: ticket, hash: secret.hash, by: call)
            }
        }
        switch outcome {
        case .entered(let account):
            return .signedIn(try issuer.signedIn(account, identityID: nil, newSession: newSession))
        case .choose(let account):
            return .linkRequired(
                LinkRequired(
                    linkTicket: secret.text, expiresAt: ticket.expiresAt, person: .mailbox(ticket.email),
                    choices: [.bind, .create], holder: ShownHolder(account, .identities)))
        }
    }

    package func resetPassword(
        email: String, code typed: String, newPassword: String, by call: Call
    ) async throws(SignInFailure) {
        let (code, hash) = try await beginReset(email: email, code: typed, newPassword: newPassword, by: call)
        _ = try await refusals.notingDisabledAccount(with: code.email, by: call) { () throws(SignInFailure) in
            try await stored { try await accounts.resetPassword(to: hash, proven: code, by: call) }
        }
    }

    /// Proves the code of a reset, and hashes the new password.
    func beginReset(
        email: String, code typed: String, newPassword: String, by call: Call
    ) async throws(SignInFailure) -> (code: EmailCode, passwordHash: PasswordHash) {
        let address = EmailAddress.existing(email)
        // First: a password that the policy refuses doesn't cost a try.
        try PasswordPolicy.require(newPassword, for: address)
        let code = try await proveCode(typed, for: .resetPassword, of: address, by: call)
        return (code, try await hasher.hash(newPassword, by: call))
    }

    /// Proves the account's address, or the one that is to replace it.
    package func verifyEmail(code typed: String, of session: Session, by call: Call) async throws(SignInFailure) {
        let addresses = try await stored { try await accounts.unprovenEmails(of: session.accountID, by: call) }
        let code = try await proveCode(typed, for: .verifyEmail, ofAny: addresses, account: session.accountID, by: call)
        try await stored { try await accounts.verifyEmail(by: code, in: session, by: call) }
    }

    /// The stored code that the typed one matches. A wrong code, one tried too often and a missing one fail alike.
    func proveCode(
        _ typed: String, for purpose: EmailCodePurpose, of address: EmailAddress?, ticketHash: SecretHash? = nil,
        by call: Call
    ) async throws(SignInFailure) -> EmailCode {
        try await proveCode(
            typed, for: purpose, ofAny: [address].compactMap(\.self), ticketHash: ticketHash, account: nil, by: call)
    }

    /// - Parameter account: the account that it is for, if that isn't the one that has the address.
    private func proveCode(
        _ typed: String, for purpose: EmailCodePurpose, ofAny addresses: [EmailAddress],
        ticketHash: SecretHash? = nil, account: AccountID?, by call: Call
    ) async throws(SignInFailure) -> EmailCode {
        try await limits.guessingCode(of: addresses.first, in: account, by: call) { () throws(SignInFailure) in
            let attempts = addresses.map { address in
                EmailCodeAttempt(
                    email: address, purpose: purpose, ticketHash: ticketHash, network: call.caller.network,
                    account: account)
            }
            let code = try await stored {
                try await store.attempt(anyOf: attempts, by: call) { [codes] in codes.matches(typed, $0) }
            }
            guard let code else { throw .invalidCredentials }
            return code
        }
    }
}
