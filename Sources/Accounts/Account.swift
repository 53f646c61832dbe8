/// A local account.
package struct Account: Hashable, Sendable {
    package enum Status: String, CaseIterable, Sendable {
        case active
        case disabled
    }

    package let id: AccountID
    package let email: EmailAddress?
    /// Whether access to the mailbox has been proven. Until then the address is only claimed, by the first account that
    /// gave it, and is never found by a token's email.
    package let isEmailVerified: Bool
    package let displayName: DisplayName?
    package let status: Status
    package let createdAt: Timestamp
    /// Whether there is a password to sign in with.
    package let hasPassword: Bool
    /// Oldest first.
    package let identities: [Identity]

    package init(
        id: AccountID, email: EmailAddress?, isEmailVerified: Bool, displayName: DisplayName?, status: Status,
        createdAt: Timestamp, hasPassword: Bool, identities: [Identity]
    ) {
        self.id = id
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.displayName = displayName
        self.status = status
        self.createdAt = createdAt
        self.hasPassword = hasPassword
        self.identities = identities
    }

    /// Whether the account has a sign-in method besides this identity: its password and address, or another identity
    /// that its provider has not disabled. A mailed code doesn't count: whether mail goes out is up to the operator.
    package func hasSignInMethod(besides identity: IdentityID) -> Bool {
        (hasPassword && email != nil) || identities.contains { $0.id != identity && !$0.isBlocked }
    }

    /// The address that notices of changes go to: the account's, once it was proven. An unproven one may be another
    /// person's, who must not get mail of this account.
    package var mailbox: EmailAddress? { isEmailVerified ? email : nil }

    /// Whether this is an identity-only account of the identity: active, without a password, and without an address
    /// that another person than the identity's owner could read. An identity that its provider has disabled is not
    /// moved, so it doesn't count.
    package func isIdentityOnly(_ key: IdentityKey) -> Bool {
        guard status == .active, !hasPassword, identities.count == 1, let identity = identities.first,
            identity.key == key, !identity.isBlocked
        else { return false }
        return email == nil || email == identity.mailbox
    }

    /// The same account with a name.
    package func named(_ name: DisplayName) -> Account {
        Account(
            id: id, email: email, isEmailVerified: isEmailVerified, displayName: name, status: status,
            createdAt: createdAt, hasPassword: hasPassword, identities: identities)
    }
}

/// A provider identity that is linked to an account.
package struct Identity: Hashable, Sendable {
    /// The known state of the person's authorization at the provider.
    package enum Authorization: String, CaseIterable, Sendable {
        case none
        case active
        case revoking
        case revoked
    }

    package let id: IdentityID
    package let key: IdentityKey
    package let email: EmailAddress?
    package let isEmailVerified: Bool
    package let isPrivateEmail: Bool
    package let linkedAt: Timestamp
    /// Accurate to the hour: a sign-in writes it only when it is older.
    package let lastSignInAt: Timestamp?
    package let authorization: Authorization
    /// Whether mail to a relay address arrives; `nil` while the provider has not reported it.
    package let isEmailDeliverable: Bool?
    /// Whether the provider has disabled the person's account there. The identity can't sign in then.
    package let isBlocked: Bool

    /// The address, if the provider has verified it.
    package var mailbox: EmailAddress? { isEmailVerified ? email : nil }

    package init(
        id: IdentityID, key: IdentityKey, email: EmailAddress?, isEmailVerified: Bool, isPrivateEmail: Bool,
        linkedAt: Timestamp, lastSignInAt: Timestamp?, authorization: Authorization, isEmailDeliverable: Bool? = nil,
        isBlocked: Bool = false
    ) {
        self.id = id
        self.key = key
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.isPrivateEmail = isPrivateEmail
        self.linkedAt = linkedAt
        self.lastSignInAt = lastSignInAt
        self.authorization = authorization
        self.isEmailDeliverable = isEmailDeliverable
        self.isBlocked = isBlocked
    }
}
