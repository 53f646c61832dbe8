package import Accounts
import Primitives
import Storage

/// What the owner of an account sees and changes: its name, password and address, its identities, its deletion.
package struct AccountSettings: Sendable {
    let store: AccountStore
    let replacements: EmailReplacementStore
    let personalData: PersonalData
    let exports: FairLimit<Party>
    /// Who serves a change at the owner's request takes a place of these.
    package let changes: AccountChanges
    let codes: EmailCodes
    let hasher: PasswordHasher
    let limits: RateLimiter
    let repetitions: RepeatedEvents

    package func account(of session: Session) async throws(SignInFailure) -> Account {
        guard let account = try await stored({ try await store.account(session.accountID) }) else {
            throw .invalidSession
        }
        return account
    }

    /// - Parameter name: `nil` for none.
    package func rename(
        accountOf session: Session, to name: DisplayName?, by call: Call
    ) async throws(SignInFailure) -> Account {
        let id = session.accountID
        try await limits.draw(.renamePerAccount, of: "\(id)", by: call)
        let event = AuditEvent(.displayNameChanged, from: call.origin, accountID: id)
        return try await repetitions.recording(.displayName(id), by: call) { isRecorded throws(SignInFailure) in
            let account = try await stored {
                try await store.rename(accountOf: session, to: name, by: call, recording: isRecorded ? event : nil)
            }
            return (account, event)
        }
    }

    /// Sets a password. The current one authorizes it, or a fresh session where there is none. Every other session ends.
    package func changePassword(
        of session: Session, current: String?, to newPassword: String, by call: Call
    ) async throws(SignInFailure) {
        let account = try await account(of: session)
        let old = try await stored { try await store.passwordHash(of: session.accountID) }
        if old == nil {
            try session.requireFresh(by: call)
            // A password without an address can't be signed in with.
            guard account.email != nil else { throw .emailRequired }
        } else if current == nil {
            throw .missingCredential("currentPassword")
        }
        try PasswordPolicy.require(newPassword, for: account.email)
        if let current { try await guess(current, against: old, of: account, in: session, by: call) }
        try await limits.draw(.passwordChangePerAccount, of: "\(account.id)", by: call)
        let hash = try await hasher.hash(newPassword, in: account.id, by: call)
        do throws(SignInFailure) {
            try await stored { try await store.changePassword(to: hash, from: old, in: session, by: call) }
        } catch .proofNoLongerValid {
            // It has changed meanwhile.
            throw .invalidCredentials
        }
    }

    /// Whether the account has this password, and one was set in the session within ten minutes: a change that comes twice
    /// is refused the second time. The password counts as a guess; where none was set, none is compared.
    package func hasSetPassword(
        _ password: String, in session: Session, by call: Call
    ) async throws(SignInFailure) -> Bool {
        let since = call.now.advanced(bySeconds: -Lifetimes.freshAuthenticationSeconds)
        guard try await stored({ try await store.hasChangedPassword(in: session, since: since) }) else { return false }
        let account = try await account(of: session)
        let hash = try await stored { try await store.passwordHash(of: session.accountID) }
        do throws(SignInFailure) {
            try await guess(password, against: hash, of: account, in: session, by: call)
            return true
        } catch .invalidCredentials {
            return false
        }
    }

    /// Compares a password with the account's, in a session of it.
    private func guess(
        _ password: String, against hash: PasswordHash?, of account: Account, in session: Session, by call: Call
    ) async throws(SignInFailure) {
        try await limits.guessingPassword(
            of: account.email?.text ?? "\(account.id)", with: account.email,
            in: account.email == nil ? account.id : nil, guesser: .session(session.id), by: call
        ) { _ throws(SignInFailure) in
            true
        } _: { isHeld throws(SignInFailure) in
            guard try await hasher.verify(password, against: hash, isHeld: isHeld, in: account.id, by: call) else {
                throw .invalidCredentials
            }
        }
    }

    /// Mails a code to the address that is to become the account's. Nothing changes until the code proves the address; only
    /// then does it show whether another account has it. Where the address has had its new codes, the change waits for one
    /// that is asked for later.
    ///
    /// - Returns: `false` where the same was asked for before: its code is mailed again at most, and it counts as no request.
    @discardableResult
    package func requestEmail(_ email: String, of session: Session, by call: Call) async throws(SignInFailure) -> Bool {
        guard let language = call.origin.mailLanguage else { throw .mailUnavailable }
        guard let address = EmailAddress(email) else { throw .malformedEmail }
        // A reader of the account's mailbox can set its password.
        try session.requireFresh(by: call)
        try await limits.drawNetworks(.mailPerNetwork, by: call)
        let request = try codes.request(
            for: address, purpose: .verifyEmail, network: call.caller.network, language: language, by: call)
        let isRequest: (EmailChangeRequest) -> Bool = { $0 == .done }
        // Per account too: its owner chooses who receives these mails.
        let outcome = try await limits.drawing(
            .mailPerAddress, of: "\(session.accountID)", by: call, counting: isRequest
        ) { () throws(SignInFailure) -> EmailChangeRequest in
            let outcome = try await change(email: request, allowance: nil, of: session, by: call)
            guard outcome == .needsAllowance else { return outcome }
            return try await limits.drawingCode(for: address, by: call, counting: isRequest) {
                allowance throws(SignInFailure) -> EmailChangeRequest in
                var request = request
                request.isServiceGuessedAt = try await limits.isServiceGuessedAt()
                return try await change(email: request, allowance: allowance, of: session, by: call)
            }
        }
        return isRequest(outcome)
    }

    /// Stops the replacement that an administrator has requested, if there is one. No fresh sign-in is needed: the owner
    /// must be able to stop an impostor's request at once.
    package func cancelEmailReplacement(of session: Session, by call: Call) async throws(SignInFailure) {
        try await stored { try await replacements.cancel(in: session, by: call) }
    }

    private func change(
        email request: EmailCodeRequest, allowance: EmailCodeAllowance?, of session: Session, by call: Call
    ) async throws(SignInFailure) -> EmailChangeRequest {
        try await stored {
            try await store.requestEmail(request, allowance: allowance, in: session, by: call)
        }
    }

    /// Everything that is stored about the session's person.
    package func export(of session: Session, by call: Call) async throws(SignInFailure) -> PersonalDataExport {
        try session.requireFresh(by: call)
        let subject = "\(session.accountID)"
        let shares = call.caller.shares(
            network: PersonalDataExport.placesOfNetwork, of: (subject, PersonalDataExport.placesOfAccount))
        guard let place = exports.acquire(shares) else { throw .overloaded(retryAfter: 1) }
        return try await limits.drawing(.exportPerAccount, of: subject, by: call) { () throws(SignInFailure) in
            let export = try await stored {
                try await PersonalDataExport(of: session.accountID, from: personalData, by: call, holding: place)
            }
            guard let export else { throw .invalidSession }
            return export
        }
    }

    /// Counts that a client of the OAuth server is linked to an account, of which the owner is mailed.
    ///
    /// - Throws: ``SignInFailure/rateLimited(_:retryAfter:)`` when the account's allowance is used up.
    package func countLink(of id: AccountID, by call: Call) async throws(SignInFailure) {
        try await limits.draw(.linkPerAccount, of: "\(id)", by: call)
    }

    /// The same, and takes it back where the link throws.
    package func countingLink<Value>(
        of id: AccountID, by call: Call, _ link: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        try await limits.drawing(.linkPerAccount, of: "\(id)", by: call, link)
    }

    /// Unlinks one of the account's identities, ends the sessions that it opened, and queues the revocation of its
    /// authorization.
    package func unlink(_ identityID: IdentityID, of session: Session, by call: Call) async throws(SignInFailure) {
        try session.requireFresh(by: call)
        // An allowance beside that of links: what could be linked can be unlinked.
        try await limits.drawing(.linkPerAccount, of: "unlink \(session.accountID)", by: call) {
            () throws(SignInFailure) in
            try await stored { try await store.unlink(identityID, in: session, by: call) }
        }
    }

    /// Whether there was this account, and it was deleted.
    package func isDeleted(_ id: AccountID) async throws(SignInFailure) -> Bool {
        try await stored { try await store.isDeleted(id) }
    }

    /// Deletes the account of the session, and queues the revocation of its authorizations at the providers.
    package func delete(accountOf session: Session, by call: Call) async throws(SignInFailure) {
        try session.requireFresh(by: call)
        let event = AuditEvent(.accountDeleted, from: call.origin)
        try await stored { try await store.delete(in: session, recording: event, by: call) }
    }
}
