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
    /// The mailbox that its person has read a code in, which led to the account that they have been shown.
    package let readMailbox: ReadMailbox?
    package let createdAt: Timestamp
    package let expiresAt: Timestamp

    package init(
        identity: VerifiedIdentity, displayName: DisplayName?, device: Device? = nil, shownHolder: ShownAccount? = nil,
        readMailbox: ReadMailbox? = nil, createdAt: Timestamp, expiresAt: Timestamp
    ) {
        self.identity = identity
        self.displayName = displayName
        self.device = device
        self.shownHolder = shownHolder
        self.readMailbox = readMailbox
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// A mailbox whose reader has typed a code that was mailed there.
package struct ReadMailbox: Hashable, Sendable {
    package let address: EmailAddress
    /// When the code was typed.
    package let provenAt: Timestamp

    package init(address: EmailAddress, provenAt: Timestamp) {
        self.address = address
        self.provenAt = provenAt
    }
}

/// What a ticket shows of one address, and since when: what was ended later, it opens no more.
package struct TicketEvidence: Hashable, Sendable {
    package let evidence: AddressEvidence
    package let since: Timestamp
}

extension LinkTicket {
    /// Whether its person had authenticated as recently, when it was made, as one has to who deletes an account.
    package var isOfFreshAuthentication: Bool {
        identity.authenticatedAt.advanced(bySeconds: Lifetimes.freshAuthenticationSeconds) >= createdAt
    }

    package func evidence(of address: EmailAddress?) -> TicketEvidence {
        if let readMailbox, readMailbox.address == address {
            return TicketEvidence(evidence: .mailedCode, since: readMailbox.provenAt)
        }
        let isOfIdentity = address != nil && identity.email?.address == address
        return TicketEvidence(
            evidence: isOfIdentity ? AddressEvidence(identity.email) : .none, since: identity.issuedAt)
    }

    /// What the ticket alone does to an account that its person has been shown, as that is now; `nil` where it proves nothing
    /// of it.
    package func outcome(ofShown account: Account) -> AddressOutcome? {
        AddressRule.outcome(of: .bindToShown, evidence(of: account.email).evidence, holder: AddressHolder(account))
    }

    /// Whether its person reads the mailbox of the account that they have been shown.
    package var provesShownMailbox: Bool {
        shownHolder != nil && (readMailbox != nil || AddressEvidence(identity.email).provesMailbox)
    }
}
