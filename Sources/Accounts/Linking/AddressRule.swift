/// An operation whose outcome depends on who has an address, and how well that is known.
package enum AddressOperation: String, CaseIterable, Sendable {
    case signIn = "sign-in by an unknown identity"
    case signInKnown = "sign-in by a linked identity"
    case mailedSignIn = "sign-in by a mailed code"
    case create = "*create*"
    case bindBySession = "*bind* by a session"
    case bindByPassword = "*bind* by a password"
    case bindByCode = "*bind* by a mailed code"
    case bindToShown = "*bind* to the account that the ticket has shown"
    case register = "registering"
    case registerByCode = "registering on the page, by a mailed code"
    case reset = "reset of the password"
    case verifyEmail = "verify-email, in a session"
    case changeEmail = "change of address, in a session"
    case replaceEmail = "replace-email, by an administrator"
    case linkInSession = "link while signed in"
    case replaceIdentity = "replacing an identity"
    case merge = "merging a stray account"
    case providerEvent = "a provider's event"
}

/// The account that has the address, seen from the person who arrives.
package enum AddressHolder: String, CaseIterable, Sendable {
    case nobody
    case claimed
    case stated
    case proven

    package init(_ account: Account?) { self.init(account?.emailProof) }

    /// - Parameter proof: the degree of the address for the account that has it; `nil` when none has.
    package init(_ proof: EmailProof?) {
        self =
            switch proof {
            case nil: .nobody
            case .claimed: .claimed
            case .stated: .stated
            case .proven: .proven
            }
    }
}

/// What a person without a proof of the account is shown of it.
package enum HolderView: String, Sendable {
    case nothing
    /// The providers of its identities.
    case providers
    /// Its identities with masked addresses, and since when there are.
    case identities
}

/// The outcome of an operation, as far as the address decides it.
package enum AddressOutcome: Hashable, Sendable {
    /// The person chooses.
    case choose([LinkChoice], showing: HolderView)
    /// The identity is linked to the holder without a question, where that is active and has none of the provider.
    case bindUnasked
    /// The account is made, with the address or without.
    case create(withAddress: Bool)
    /// The account is made with the address, which the holder loses.
    case createTaking
    case refuseEmailTaken
    /// The account is entered or linked, and nothing of what it has goes.
    case enter
    /// As ``enter``; an identity of the account may raise its degree.
    case enterRaising
    /// The account is shown to the person, and the same call again takes it over if it has been.
    case takeOverOnceShown
    /// Whatever was set up before goes: password, sessions, identities, name, a pending change.
    case enterClearing
    /// No code is mailed, and none is accepted.
    case refuseCode
    /// The account's address becomes ``EmailProof/proven``, or a proven one takes its place.
    case prove
    /// As ``prove``; the holder loses the address.
    case proveTaking
    case unchanged
}

/// A rule: what an operation does, by what the person shows of the mailbox and by the holder's degree.
package struct AddressRule: Sendable {
    package let operation: AddressOperation
    package let evidence: Set<AddressEvidence>
    package let holder: Set<AddressHolder>
    package let policy: Set<VerifiedEmailPolicy>
    package let outcome: AddressOutcome
    /// The reason, as docs/linking.md gives it.
    package let why: String

    init(
        _ operation: AddressOperation, _ evidence: Set<AddressEvidence>, _ holder: Set<AddressHolder>,
        policy: Set<VerifiedEmailPolicy> = Set(VerifiedEmailPolicy.allCases), _ outcome: AddressOutcome, _ why: String
    ) {
        self.operation = operation
        self.evidence = evidence
        self.holder = holder
        self.policy = policy
        self.outcome = outcome
        self.why = why
    }

    /// The outcome of an operation: that of the one rule that applies.
    ///
    /// - Parameter policy: `linking.verifiedEmail`, where it matters.
    /// - Returns: `nil` for evidence that the operation never comes with.
    package static func outcome(
        of operation: AddressOperation, _ evidence: AddressEvidence, holder: AddressHolder,
        policy: VerifiedEmailPolicy = .prompt
    ) -> AddressOutcome? {
        all.first {
            $0.operation == operation && $0.evidence.contains(evidence) && $0.holder.contains(holder)
                && $0.policy.contains(policy)
        }?.outcome
    }
}
