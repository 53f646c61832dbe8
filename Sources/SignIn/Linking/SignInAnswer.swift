package import Accounts

package enum SignInAnswer: Sendable {
    case signedIn(SignedIn)
    case linkRequired(LinkRequired)
}

/// A choice that a person has to make, and the ticket for it.
package struct LinkRequired: Sendable {
    /// The person whom the ticket is for.
    package enum Person: Sendable {
        case identity(VerifiedIdentity)
        /// The reader of a mailbox.
        case mailbox(EmailAddress)

        package var email: EmailAddress? {
            switch self {
            case .identity(let identity): identity.email?.address
            case .mailbox(let email): email
            }
        }
    }

    package let linkTicket: String
    package let expiresAt: Timestamp
    package let person: Person
    package let choices: [LinkChoice]
    /// The account that has the address, if the person may see something of it.
    package let holder: ShownHolder?
    /// What the provider says that the person is called, for the field in which they may change it.
    package var suggestedName: DisplayName?
}

/// The account that has the address of a ticket's person, as far as they may see it.
package struct ShownHolder: Sendable {
    package let account: Account
    /// Whether its age and its identities are shown, or only the providers of those.
    package let showsIdentities: Bool

    init?(_ account: Account, _ view: HolderView) {
        guard view != .nothing else { return nil }
        self.account = account
        self.showsIdentities = view == .identities
    }
}

extension LinkRequired {
    /// The providers by which the account that is shown is entered, and by which it can be proven.
    package var provers: [Provider] {
        guard case .identity = person, let holder = holder?.account else { return [] }
        return holder.providers
    }

    /// The shown account's other identity of the ticket's own provider, which *bind* would have to replace.
    package var conflicting: Identity? {
        guard case .identity(let own) = person else { return nil }
        return holder?.account.identity(besides: own.key)
    }
}

extension UnknownIdentityDecision {
    var showsIdentities: Bool { if case .linkRequired(_, .identities) = self { true } else { false } }
}
