/// A verified identity whose owner has yet to choose *create* or *bind*. It is stored under the SHA-256 of the secret
/// that the client holds.
package struct LinkTicket: Sendable {
    /// The number of open tickets that one person may hold; with the next one the oldest ends.
    package static let maximumHeld = 5

    package let identity: VerifiedIdentity
    /// The name that the provider gave the client at first consent (Apple), or that is in its token (Google).
    package let displayName: DisplayName?
    /// The device, as the client described it at sign-in.
    package let device: Device?
    /// The account that its person has been shown, and may take over with a proof of the mailbox.
    package let shownHolder: ShownAccount?
    package let createdAt: Timestamp
    package let expiresAt: Timestamp

    package init(
        identity: VerifiedIdentity, displayName: DisplayName?, device: Device? = nil, shownHolder: ShownAccount? = nil,
        createdAt: Timestamp, expiresAt: Timestamp
    ) {
        self.identity = identity
        self.displayName = displayName
        self.device = device
        self.shownHolder = shownHolder
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}
