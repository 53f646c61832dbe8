import Accounts
import TestSupport

/// A person of the walk, with two subjects at each provider, so that an account with one identity of a provider meets
/// the other, and with three mailboxes, two of which a provider runs.
struct WalkPerson: Sendable {
    let name: String

    static func crowd(_ count: Int) -> [WalkPerson] { (1...count).map { WalkPerson(name: "person\($0)") } }

    func subject(_ provider: Provider, _ number: Int) -> String { "\(name).\(provider.rawValue).\(number)" }

    var addresses: [String] { ["\(name)@example.com", mailbox(at: .google), mailbox(at: .apple)] }

    /// The mailbox that the provider runs.
    func mailbox(at provider: Provider) -> String {
        switch provider {
        case .apple: "\(name)@icloud.com"
        case .google: "\(name)@gmail.com"
        }
    }

    var relay: String { "\(name)@privaterelay.appleid.com" }

    /// Two for all people, so that a guess is often right.
    static let passwords = ["a first horse of iron", "a second horse of tin"]
}

/// The claims of a token about an email.
enum WalkEmail: CaseIterable {
    case none
    case verified
    /// At the provider's own domain.
    case authoritative
    /// At a domain that Google hosts; a token of Apple's has no email then.
    case hosted
    /// At the other provider's domain.
    case elsewhere
    case unverified
    /// Another person's, which the provider has not verified.
    case foreign
    /// Another person's, which was this one's when the provider verified it.
    case lost
    /// Apple's alone; a token of Google's has no email then.
    case relay

    func claims(
        of person: WalkPerson, besides other: WalkPerson, at provider: Provider
    ) -> [(String, TokenMint.Literal?)] {
        switch self {
        case .none: []
        case .verified: SignInFixture.email(person.addresses[0])
        case .authoritative: SignInFixture.email(person.mailbox(at: provider)) + [("is_private_email", false)]
        case .hosted: provider == .google ? SignInFixture.hosted(person.addresses[0]) : []
        case .elsewhere: SignInFixture.email(person.mailbox(at: provider == .apple ? .google : .apple))
        case .unverified: SignInFixture.email(person.addresses[0], verified: false)
        case .foreign: SignInFixture.email(other.addresses[0], verified: false)
        case .lost: SignInFixture.email(other.addresses[0])
        case .relay: provider == .apple ? SignInFixture.email(person.relay) + SignInFixture.relay : []
        }
    }

    /// The address that such a token proves, if any.
    func proven(of person: WalkPerson, at provider: Provider) -> String? {
        switch self {
        case .authoritative: person.mailbox(at: provider)
        case .hosted: provider == .google ? person.addresses[0] : nil
        case .relay: provider == .apple ? person.relay : nil
        case .none, .verified, .elsewhere, .unverified, .foreign, .lost: nil
        }
    }
}
