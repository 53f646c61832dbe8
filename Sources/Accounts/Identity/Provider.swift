import Primitives

/// An identity provider this service accepts.
package enum Provider: String, CaseIterable, Codable, Sendable {
    case apple
    case google
}

/// The name space of a provider's subjects: for Apple the team's name in the configuration, because a `sub` is per team;
/// otherwise `main`.
package struct Realm: ExactString {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static let main = Realm("main")
}

/// A provider's `sub`: opaque, case-sensitive, 1 to 255 bytes, compared by bytes.
package struct ProviderSubject: ExactString {
    package let text: String

    /// `nil` when empty, longer than 255 bytes, or holding a C0 control (which PostgreSQL or a log could not carry).
    package init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), !text.utf8.contains(where: \.isASCIIControl) else {
            return nil
        }
        self.text = text
    }
}

/// What identifies a person: never an email address.
package struct IdentityKey: Hashable, Sendable {
    package let provider: Provider
    package let realm: Realm
    package let subject: ProviderSubject

    package init(provider: Provider, realm: Realm, subject: ProviderSubject) {
        self.provider = provider
        self.realm = realm
        self.subject = subject
    }
}
