/// An email as a provider states it in a verified token.
package struct ProviderEmail: Hashable, Sendable {
    package let address: EmailAddress
    package let isVerified: Bool
    /// Apple's relay: it forwards mail but proves nothing about who owns a local account.
    package let isPrivateRelay: Bool
    /// Whether the provider itself runs the mailbox's domain (docs/linking.md, automatic linking): Google for
    /// `@gmail.com` and hosted domains, Apple for its own domains when the address is stated not to be a relay.
    package let isAuthoritative: Bool

    package init(address: EmailAddress, isVerified: Bool, isPrivateRelay: Bool, isAuthoritative: Bool) {
        self.address = address
        self.isVerified = isVerified
        self.isPrivateRelay = isPrivateRelay
        self.isAuthoritative = isAuthoritative
    }

    /// The address, if the provider has verified it.
    package var mailbox: EmailAddress? { isVerified ? address : nil }

    /// The address when it may point at a local account: verified, and no relay.
    package var candidate: EmailAddress? { isVerified && !isPrivateRelay ? address : nil }
}

/// A person whom a provider has authenticated. Made by the provider rules from a verified token, and restored from a
/// link ticket that such a verification wrote; nowhere else.
package struct VerifiedIdentity: Hashable, Sendable {
    package private(set) var key: IdentityKey
    package private(set) var email: ProviderEmail?
    /// The client (app) that the token was issued to.
    package let clientID: ProviderClientID
    /// When the person authenticated at the provider: the token's `auth_time`, else its `iat`.
    package let authenticatedAt: Timestamp
    /// When the provider issued the token: its `iat`. A provider renews tokens without asking the person again, so this may
    /// be long after ``authenticatedAt``.
    package private(set) var issuedAt: Timestamp
    /// The token's `nonce`, as it stands in the token.
    package let nonce: String?
    /// Apple's `transfer_sub`, present for 60 days after an app moved between teams.
    package let transferSubject: ProviderSubject?

    /// The token's `name`, which Google's have: what the person calls themselves there, for an account that is made of it.
    package private(set) var name: DisplayName?

    /// To be called in `Providers` and `Storage` alone. `package` access can't express that: `Scripts/check-layers` does.
    package init(
        key: IdentityKey, email: ProviderEmail?, clientID: ProviderClientID, authenticatedAt: Timestamp,
        issuedAt: Timestamp,
        nonce: String? = nil, transferSubject: ProviderSubject? = nil, name: DisplayName? = nil
    ) {
        self.key = key
        self.email = email
        self.clientID = clientID
        self.authenticatedAt = authenticatedAt
        self.issuedAt = issuedAt
        self.nonce = nonce
        self.transferSubject = transferSubject
        self.name = name
    }

    /// The same person by the subject that they had before their app changed hands.
    package func known(as key: IdentityKey) -> VerifiedIdentity {
        var known = self
        known.key = key
        return known
    }

    /// The same person by two tokens: with the address and the name of the other where this one has none, and the later time of issue,
    /// as a token from before a sign-out may come beside the code of a new authorization. The time of authentication stays
    /// this one's.
    package func completed(by other: VerifiedIdentity) -> VerifiedIdentity {
        guard other.key == key else { return self }
        var completed = self
        completed.email = email ?? other.email
        completed.name = name ?? other.name
        completed.issuedAt = max(issuedAt, other.issuedAt)
        return completed
    }
}
