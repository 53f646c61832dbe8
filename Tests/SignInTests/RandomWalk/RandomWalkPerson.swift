import Accounts
import TestSupport

/// Somebody who walks: two subjects at each provider, so that an account meets another identity of a provider that it
/// has, and three mailboxes, two of which a provider runs.
struct WalkPerson: Sendable {
    let name: String

    static func crowd(_ count: Int) -> [WalkPerson] {
        (1...count).map { WalkPerson(name: "person\($0)") }
    }

    func subject(_ provider: Provider, _ number: Int) -> String { "\(name).\(provider.rawValue).\(number)" }

    var addresses: [String] { ["\(name)@example.com", mailbox(at: .google), mailbox(at: .apple)] }

    /// Run by the provider.
    func mailbox(at provider: Provider) -> String {
        switch provider {
        case .apple: "\(name)@icloud.com"
        case .google: "\(name)@gmail.com"
        }
    }

    var relay: String { "\(name)@privaterelay.appleid.com" }

    /// Whoever guesses has a fair chance.
    static let passwords = ["a first horse of iron", "a second horse of tin"]
}

/// What a token says of an email.
enum WalkEmail: CaseIterable {
    case none
    case verified
    /// At the provider's own domain.
    case authoritative
    case unverified
    /// Somebody else's, which the provider has not looked at.
    case foreign
    /// Apple's alone; Google has none and says nothing then.
    case relay

    func claims(
        of person: WalkPerson, besides other: WalkPerson, at provider: Provider
    ) -> [(String, TokenMint.Literal?)] {
        switch self {
        case .none: []
        case .verified: SignInFixture.email(person.addresses[0])
        case .authoritative: SignInFixture.email(person.mailbox(at: provider)) + [("is_private_email", false)]
        case .unverified: SignInFixture.email(person.addresses[0], verified: false)
        case .foreign: SignInFixture.email(other.addresses[0], verified: false)
        case .relay: provider == .apple ? SignInFixture.email(person.relay) + SignInFixture.relay : []
        }
    }
}
