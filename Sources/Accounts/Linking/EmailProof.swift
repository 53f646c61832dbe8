/// The degree to which an account's address is known to be its owner's (docs/linking.md, "Degrees of an address").
package enum EmailProof: String, CaseIterable, Comparable, Sendable {
    /// Typed by the account's maker, and not verified.
    case claimed
    /// A provider verified it once but does not run the mailbox, which may have changed hands since.
    case stated
    /// A reader of the mailbox, an administrator, or the provider that runs the mailbox.
    case proven

    /// What a degree rests on; kept with it.
    package enum Source: String, CaseIterable, Sendable {
        case registration
        /// A provider's verified claim.
        case provider
        /// The claim of a provider that runs the mailbox, or that forwards to it; also where it came after another proof.
        case authoritativeProvider = "authoritative_provider"
        case mailedCode = "mailed_code"
        case administrator
        /// The word of the system that the account was imported from.
        case imported
        /// An identity of the account's provider with the same address and another subject has signed in.
        case otherSubject = "other_subject"
    }

    package static func < (one: EmailProof, other: EmailProof) -> Bool { one.rank < other.rank }

    private var rank: Int {
        switch self {
        case .claimed: 0
        case .stated: 1
        case .proven: 2
        }
    }
}

/// An address as an account gets it.
package struct ProvenEmail: Hashable, Sendable {
    package let address: EmailAddress
    package let proof: EmailProof
    package let source: EmailProof.Source

    package init(address: EmailAddress, proof: EmailProof, source: EmailProof.Source) {
        self.address = address
        self.proof = proof
        self.source = source
    }
}

/// What the person who arrives shows of the mailbox.
package enum AddressEvidence: String, CaseIterable, Sendable {
    /// A token without an address, or with one that the provider has not verified.
    case none
    /// A relay address of Apple's: it is the person's own, and no other account has it.
    case relay
    /// A provider verified the address but does not run the mailbox.
    case stated
    /// The provider that verified the address runs the mailbox.
    case authoritative
    /// A code that was mailed to the address.
    case mailedCode = "mailed code"

    package init(_ email: ProviderEmail?) {
        guard let email, email.isVerified else {
            self = .none
            return
        }
        self = email.isPrivateRelay ? .relay : email.isAuthoritative ? .authoritative : .stated
    }

    /// Whether who shows it reads the mailbox now.
    package var provesMailbox: Bool { self == .authoritative || self == .mailedCode }

    /// The degree and the source of an account's address that rests on this; `nil` when nothing can.
    package var proof: (EmailProof, EmailProof.Source)? {
        switch self {
        case .none: nil
        case .relay, .authoritative: (.proven, .authoritativeProvider)
        case .stated: (.stated, .provider)
        case .mailedCode: (.proven, .mailedCode)
        }
    }
}

extension Account {
    /// The address as it is proven by the claim of an identity of this account; `nil` when it rests on no less now. An address
    /// that was proven otherwise rests on the provider that runs the mailbox once that has stated it, so that a successor
    /// there is known by it.
    package func emailRaised(by claim: ProviderEmail?) -> ProvenEmail? {
        guard let claim, claim.address == email, let emailProof, let (proof, source) = AddressEvidence(claim).proof
        else { return nil }
        let isRestated = proof == emailProof && source == .authoritativeProvider && source != emailProofSource
        guard proof > emailProof || isRestated else { return nil }
        return ProvenEmail(address: claim.address, proof: proof, source: source)
    }

    /// Whether an authoritative token of a person with another subject shows that the mailbox has a new reader: the
    /// account has an identity of the same provider that has the address; or had it, where the provider has proven the
    /// account's, and its person was given another since.
    package func isSucceeded(by identity: VerifiedIdentity) -> Bool {
        guard let claim = identity.email, AddressEvidence(claim) == .authoritative, claim.address == email,
            let predecessor = self.identity(besides: identity.key)
        else { return false }
        return predecessor.mailbox == claim.address || emailProofSource == .authoritativeProvider
    }
}
