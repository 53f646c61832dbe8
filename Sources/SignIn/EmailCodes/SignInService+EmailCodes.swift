package import Accounts
import Storage

/// Codes by mail: requesting one, and what it proves. Neither the answer nor its timing depends on whether an account has
/// the address.
extension SignInService {
    /// Mails a code to the address, if an account has it.
    ///
    /// - Parameter linkTicket: the ticket that a code for *bind* is going to be used with.
    package func mailCode(
        to email: String, for purpose: EmailCodePurpose, linkTicket: String? = nil, client: Client
    ) async throws(SignInFailure) {
        guard let language = mailLanguage(for: client) else { throw .mailUnavailable }
        guard let address = EmailAddress(email) else { throw .malformedEmail }
        let now = clock.now()
        var ticketHash: [UInt8]?
        if let linkTicket {
            guard let hash = OpaqueSecret.hash(ofPresented: linkTicket),
                try await stored({ try await stores.links.open(hash, at: now) }) != nil
            else { throw .linkTicketExpired }
            ticketHash = hash
        }
        try await limits.draw(.mailPerNetwork, of: client.network, by: client)
        try await limits.draw(.mailPerAddress, of: address.text, by: client)
        let code = emailCodes.new(for: address, purpose: purpose, at: now)
        try await stored {
            try await stores.emailCodes.issue(code, ticketHash: ticketHash, language: language, at: now)
        }
        refusals.note(.codeRequested, reason: purpose.rawValue, network: client.network, requestID: client.requestID)
    }

    package func signIn(
        email: String, code typed: String, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        try await metrics.signIns.counting(.emailCode, as: .signedIn) { () throws(SignInFailure) in
            try await openSession(email: email, code: typed, client: client)
        }
    }

    private func openSession(
        email: String, code typed: String, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        let code = try await proveCode(typed, for: .signIn, of: EmailAddress(email), by: client)
        let now = clock.now()
        let newSession = try newSession(authenticatedAt: now, methods: [.oneTimeCode], client: client, now: now)
        let outcome = try await stored {
            try await stores.accounts.signIn(by: code, newSession: newSession, from: origin(client))
        }
        return try signedIn(try value(of: outcome), identityID: nil, newSession: newSession)
    }

    package func resetPassword(
        email: String, code typed: String, newPassword: String, client: Client
    ) async throws(SignInFailure) {
        let address = EmailAddress(email)
        // First: a password that the policy refuses doesn't cost a try.
        guard PasswordPolicy.accepts(newPassword, for: address) else { throw .weakPassword }
        let code = try await proveCode(typed, for: .resetPassword, of: address, by: client)
        let hash = try await passwordHasher.hash(newPassword)
        let now = clock.now()
        let outcome = try await stored {
            try await stores.accounts.resetPassword(by: code, passwordHash: hash, at: now, from: origin(client))
        }
        try value(of: outcome)
    }

    /// Proves the account's address, or the one that is to replace it.
    package func verifyEmail(
        code typed: String, of session: Session, client: Client
    ) async throws(SignInFailure) {
        let address = try await stored {
            try await stores.accounts.unprovenEmail(of: session.accountID, at: clock.now())
        }
        let code = try await proveCode(typed, for: .verifyEmail, of: address, by: client)
        let now = clock.now()
        let outcome = try await stored {
            try await stores.accounts.verifyEmail(by: code, in: session, at: now, from: origin(client))
        }
        switch outcome {
        case .verified: return
        case .sessionGone: throw .invalidSession
        case .codeGone: throw .invalidCredentials
        case .emailTaken: throw .emailTaken
        }
    }

    /// The stored code that the typed one matches. A wrong code, one tried too often and a missing one fail alike.
    func proveCode(
        _ typed: String, for purpose: EmailCodePurpose, of address: EmailAddress?, ticketHash: [UInt8]? = nil,
        by client: Client
    ) async throws(SignInFailure) -> EmailCode {
        try await limits.guessing(atPasswordOf: nil, by: client) { () throws(SignInFailure) in
            guard let address else { throw .invalidCredentials }
            let now = clock.now()
            let code = try await stored {
                try await stores.emailCodes.attempt(purpose, of: address, ticketHash: ticketHash, at: now)
            }
            guard let code, emailCodes.matches(typed, code) else { throw .invalidCredentials }
            return code
        }
    }

    @discardableResult
    private func value<Value>(of outcome: MailboxOutcome<Value>) throws(SignInFailure) -> Value {
        switch outcome {
        case .done(let value): value
        case .codeGone: throw .invalidCredentials
        case .accountDisabled: throw .accountDisabled
        }
    }
}
