/// A provider's refresh token that is kept for an identity: which app it was given to, never the token.
package struct HeldGrant: Sendable {
    package let identityID: IdentityID
    package let clientID: ProviderClientID
    package let createdAt: Timestamp

    package init(identityID: IdentityID, clientID: ProviderClientID, createdAt: Timestamp) {
        self.identityID = identityID
        self.clientID = clientID
        self.createdAt = createdAt
    }
}

/// What else belongs to an account, for the page about it.
package struct AccountDetails: Sendable {
    package let grants: [HeldGrant]
    /// Mail to its addresses that waits or was given up, the newest first.
    package let mails: [OutboxRecord]

    package init(grants: [HeldGrant], mails: [OutboxRecord]) {
        self.grants = grants
        self.mails = mails
    }
}
