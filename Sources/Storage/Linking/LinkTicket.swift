package import Accounts

/// A verified identity that waits for its owner to choose *create* or *bind*. Known by the SHA-256 of the secret that the
/// phone holds.
package struct LinkTicket: Sendable {
    package let identity: VerifiedIdentity
    /// The name that the phone was given at first consent.
    package let displayName: DisplayName?
    /// What the phone said of itself at the sign-in.
    package let device: Device?
    package let createdAt: Timestamp
    package let expiresAt: Timestamp

    package init(
        identity: VerifiedIdentity, displayName: DisplayName?, device: Device? = nil, createdAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.identity = identity
        self.displayName = displayName
        self.device = device
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}
