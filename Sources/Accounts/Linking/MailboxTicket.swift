/// The reader of a mailbox who has typed a code, and has yet to choose what becomes of an account that has the address
/// without a proof of it. It is stored under the SHA-256 of the secret that the client holds.
package struct MailboxTicket: Sendable {
    package let email: EmailAddress
    /// The device, as the client described it at sign-in.
    package let device: Device?
    /// When the code was typed.
    package let authenticatedAt: Timestamp
    package let createdAt: Timestamp
    package let expiresAt: Timestamp

    package init(
        email: EmailAddress, device: Device?, authenticatedAt: Timestamp, createdAt: Timestamp, expiresAt: Timestamp
    ) {
        self.email = email
        self.device = device
        self.authenticatedAt = authenticatedAt
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }

    /// What the ticket does to an account that its person has been shown, as that is now; `nil` where it proves nothing of it.
    package func outcome(ofShown account: Account) -> AddressOutcome? {
        guard account.email == email else { return nil }
        return AddressRule.outcome(of: .bindToShown, .mailedCode, holder: AddressHolder(account))
    }
}
