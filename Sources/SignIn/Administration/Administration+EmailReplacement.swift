package import Accounts
import Storage

extension Administration {
    /// Requests another address for the account of a person who has lost their mailbox. It takes effect in a day, unless
    /// somebody in a session of the account or an administrator stops it.
    package func replaceEmail(
        of id: AccountID, by email: EmailAddress, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) -> EmailReplacement {
        let now = clock.now()
        guard administrator.origin.mailLanguage != nil else {
            // Nobody could be notified, and its owner could not enter by a mailed code afterwards.
            _ = try await account(id)
            throw .mailUnavailable
        }
        let outcome = try await stored {
            try await stores.emailReplacements.request(
                email, for: id, reason: reason, at: now, from: administrator.origin)
        }
        switch outcome {
        case .requested(let replacement): return replacement
        case .notFound: throw .notFound
        case .accountDisabled: throw .accountDisabled
        case .emailUnchanged: throw .emailUnchanged
        case .emailTaken: throw .emailTaken
        }
    }

    /// Stops the replacement of an account's address, if there is one.
    package func cancelEmailReplacement(
        of id: AccountID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await change { now in
            try await stores.emailReplacements.cancel(of: id, reason: reason, at: now, from: administrator.origin)
        }
    }
}
