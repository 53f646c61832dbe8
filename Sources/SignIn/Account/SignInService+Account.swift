package import Accounts
import Storage

extension SignInService {
    package func rename(
        accountOf session: Session, to name: DisplayName?, client: Client
    ) async throws(SignInFailure) -> Account {
        guard let name else { return try await account(of: session) }
        let now = clock.now()
        let renamed = try await stored {
            try await stores.accounts.rename(session.accountID, to: name, at: now, from: origin(client))
        }
        guard let renamed else { throw .invalidSession }
        return renamed
    }

    /// Sets a password. The current one authorizes it, or a fresh session where there is none. Every other session ends.
    package func changePassword(
        of session: Session, current: String?, to newPassword: String, client: Client
    ) async throws(SignInFailure) {
        let account = try await account(of: session)
        let old = try await stored { try await stores.accounts.passwordHash(of: session.accountID) }
        if old == nil {
            guard session.isFresh(at: clock.now()) else { throw .reauthenticationRequired }
            // A password without an address can't be signed in with.
            guard account.email != nil else { throw .emailRequired }
        } else if current == nil {
            throw .missingCredential("currentPassword")
        }
        guard PasswordPolicy.accepts(newPassword, for: account.email) else { throw .weakPassword }
        if let current {
            try await limits.guessing(atPasswordOf: account.email?.text ?? "\(account.id)", by: client) {
                () throws(SignInFailure) in
                guard try await passwordHasher.verify(current, against: old) else { throw .invalidCredentials }
            }
        }
        let hash = try await passwordHasher.hash(newPassword)
        let now = clock.now()
        let change = try await stored {
            try await stores.accounts.changePassword(
                to: hash, from: old, in: session, at: now, from: origin(client))
        }
        guard change == .done else { throw .invalidSession }
    }

    /// Mails a code to the address that is to become the account's. Nothing changes until the code proves the address; only
    /// then does it show whether another account has it.
    package func requestEmail(
        _ email: String, of session: Session, client: Client
    ) async throws(SignInFailure) {
        guard let language = mailLanguage(for: client) else { throw .mailUnavailable }
        guard let address = EmailAddress(email) else { throw .malformedEmail }
        let now = clock.now()
        // A reader of the account's mailbox can set its password.
        guard session.isFresh(at: now) else { throw .reauthenticationRequired }
        // Per account too: its owner chooses who receives these mails.
        try await limits.draw(.mailPerAddress, of: "\(session.accountID)", by: client)
        do throws(SignInFailure) {
            try await limits.draw(.mailPerAddress, of: address.text, by: client)
        } catch {
            await limits.putBack(.mailPerAddress, of: "\(session.accountID)")
            throw error
        }
        let code = emailCodes.new(for: address, purpose: .verifyEmail, at: now)
        let change = try await stored {
            try await stores.accounts.requestEmail(
                code, language: language, in: session, at: now, from: origin(client))
        }
        guard change == .done else { throw .invalidSession }
    }

    /// Deletes the account of the session, and queues the revocation of its authorizations at the providers.
    package func deleteAccount(of session: Session, client: Client) async throws(SignInFailure) {
        let now = clock.now()
        guard session.isFresh(at: now) else { throw .reauthenticationRequired }
        let event = AuditEvent(.accountDeleted, from: origin(client))
        guard try await stored({ try await stores.accounts.delete(in: session, by: event, at: now) }) else {
            throw .invalidSession
        }
    }

    /// Unlinks one of the account's identities, ends the sessions that it opened, and queues the revocation of its
    /// authorization.
    package func unlink(
        _ identityID: IdentityID, of session: Session, client: Client
    ) async throws(SignInFailure) {
        let now = clock.now()
        guard session.isFresh(at: now) else { throw .reauthenticationRequired }
        let outcome = try await stored {
            try await stores.accounts.unlink(identityID, in: session, at: now, from: origin(client))
        }
        switch outcome {
        case .unlinked, .kept: return
        case .sessionGone: throw .invalidSession
        case .lastSignInMethod: throw .lastSignInMethod
        case .notFound: throw .identityNotFound
        }
    }
}
