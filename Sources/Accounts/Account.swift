/// A local account.
package struct Account: Hashable, Sendable {
    package enum Status: String, CaseIterable, Sendable {
        case active
        case disabled
    }

    /// The address that takes the place of the account's, as an administrator has requested for an owner who has lost the
    /// mailbox (``EmailReplacement``).
    package struct Replacement: Hashable, Sendable {
        package let email: EmailAddress
        package let dueAt: Timestamp

        package init(email: EmailAddress, dueAt: Timestamp) {
            self.email = email
            self.dueAt = dueAt
        }
    }

    package let id: AccountID
    /// What the person is known by in the system that they were imported from.
    package let externalID: ExternalID?
    package let email: EmailAddress?
    /// How well it is known that the address is the owner's; `nil` without an address.
    package private(set) var emailProof: EmailProof?
    /// What that rests on; `nil` without an address, and where it was not written down.
    package private(set) var emailProofSource: EmailProof.Source?
    /// When a reader of the mailbox took the address for an account of their own.
    package private(set) var emailTakenAt: Timestamp?
    package let emailReplacement: Replacement?
    package var displayName: DisplayName?
    package let status: Status
    package let createdAt: Timestamp
    /// Whether there is a password to sign in with.
    package let hasPassword: Bool
    /// Oldest first.
    package var identities: [Identity]

    package init(
        id: AccountID, externalID: ExternalID? = nil, email: EmailAddress?, emailProof: EmailProof?,
        emailProofSource: EmailProof.Source? = nil, emailTakenAt: Timestamp? = nil,
        emailReplacement: Replacement? = nil, displayName: DisplayName?, status: Status, createdAt: Timestamp,
        hasPassword: Bool, identities: [Identity]
    ) {
        self.id = id
        self.externalID = externalID
        self.email = email
        self.emailProof = email == nil ? nil : emailProof
        self.emailProofSource = email == nil ? nil : emailProofSource
        self.emailTakenAt = emailTakenAt
        self.emailReplacement = emailReplacement
        self.displayName = displayName
        self.status = status
        self.createdAt = createdAt
        self.hasPassword = hasPassword
        self.identities = identities
    }

    /// The providers of its identities, each once: Apple may be linked for several teams.
    package var providers: [Provider] {
        Provider.allCases.filter { provider in identities.contains { $0.key.provider == provider } }
    }

    /// Whether a provider or a reader of the mailbox has said that the address is the owner's.
    package var isEmailVerified: Bool { emailProof.map { $0 >= .stated } ?? false }

    /// Whether the account has a sign-in method besides this identity: its password and address, or another identity
    /// that its provider has not disabled. A mailed code doesn't count: whether mail goes out is up to the operator.
    package func hasSignInMethod(besides identity: IdentityID) -> Bool {
        (hasPassword && email != nil) || identities.contains { $0.id != identity && !$0.isBlocked }
    }

    /// Whether its person can get in: by a code to an address that is known to be theirs, by a password, or by an identity,
    /// also one that its provider has disabled for now.
    package var hasSignInMethod: Bool { isEmailVerified || (hasPassword && email != nil) || !identities.isEmpty }

    /// The address that notices of changes go to: the account's, unless it is only claimed. Such a one may be another
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

    /// The addresses at which its person can be reached: its own and those of its identities, without unverified
    /// ones; one of them may come twice.
    package var mailboxes: [EmailAddress?] { [mailbox] + identities.map(\.mailbox) }

    /// The same account with another proof of its address.
    package func raised(to email: ProvenEmail) -> Account {
        var raised = self
        (raised.emailProof, raised.emailProofSource, raised.emailTakenAt) = (email.proof, email.source, nil)
        return raised
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

    /// What a provider has reported: it has disabled the person's account there.
    package struct Block: Hashable, Sendable {
        /// When the provider disabled it.
        package let since: Timestamp
        /// The provider's own word, such as `bulk-account`, else the kind of its event; at most 255 bytes.
        package let reason: String

        package init(since: Timestamp, reason: String) {
            self.since = since
            self.reason = reason
        }
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
    /// While there is one, the identity can't sign in.
    package let block: Block?
    /// When the provider wanted the person to change their credentials there; `nil` once they have signed in with the
    /// identity by an authentication of later.
    package let credentialChangeRequiredAt: Timestamp?
    /// Whether its next sign-in is mailed to the account's address: a reader of the mailbox has taken the account over
    /// with this identity in it.
    package let isSignInNoticed: Bool

    package var isBlocked: Bool { block != nil }

    /// The address, if the provider has verified it.
    package var mailbox: EmailAddress? { isEmailVerified ? email : nil }

    package init(
        id: IdentityID, key: IdentityKey, email: EmailAddress?, isEmailVerified: Bool, isPrivateEmail: Bool,
        linkedAt: Timestamp, lastSignInAt: Timestamp?, authorization: Authorization, isEmailDeliverable: Bool? = nil,
        block: Block? = nil, credentialChangeRequiredAt: Timestamp? = nil, isSignInNoticed: Bool = false
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
        self.block = block
        self.credentialChangeRequiredAt = credentialChangeRequiredAt
        self.isSignInNoticed = isSignInNoticed
    }
}
