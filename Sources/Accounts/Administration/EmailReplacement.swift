/// A replacement of an account's address that an administrator has requested, for a person who has lost the mailbox. Every
/// mailbox of the account has been notified, and any session of it can stop the replacement until it is due.
package struct EmailReplacement: Hashable, Sendable {
    /// The address that takes the place of the account's.
    package let email: EmailAddress
    package let requestedAt: Timestamp
    package let dueAt: Timestamp
    /// The name of the admin key, or of the member of the staff; of an operator the one that they state.
    package let requestedBy: String?

    package init(email: EmailAddress, requestedAt: Timestamp, dueAt: Timestamp, requestedBy: String?) {
        self.email = email
        self.requestedAt = requestedAt
        self.dueAt = dueAt
        self.requestedBy = requestedBy
    }
}
