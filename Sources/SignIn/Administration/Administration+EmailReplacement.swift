package import Accounts
import Storage

extension Administration {
    /// Requests another address for the account of a person who has lost their mailbox. It takes effect in a day, unless
    /// somebody in a session of the account or an administrator stops it.
    package func replaceEmail(
        of id: AccountID, by email: EmailAddress, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) -> EmailReplacement {
        guard administrator.call.origin.mailLanguage != nil else {
            // Nobody could be notified, and its owner could not enter by a mailed code afterwards.
            _ = try await account(id)
            throw .mailUnavailable
        }
        return try await stored {
            try await database.emailReplacements.request(email, for: id, reason: reason, by: administrator.call)
        }
    }

    /// Stops the replacement of an account's address, if there is one.
    package func cancelEmailReplacement(
        of id: AccountID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored {
            try await database.emailReplacements.cancel(of: id, reason: reason, by: administrator.call)
        }
    }
}
