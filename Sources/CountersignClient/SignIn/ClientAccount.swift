public import Foundation

/// An account as its owner sees it.
public struct ClientAccount: Sendable, Equatable, Identifiable {
    /// Open, because a newer server may name more.
    public struct Status: RawRepresentable, Sendable, Hashable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let active = Self(rawValue: "active")
        public static let disabled = Self(rawValue: "disabled")
    }

    /// How well the address is known to be the account's. Open, because a newer server may name more.
    public struct EmailProof: RawRepresentable, Sendable, Hashable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// By the mailbox itself.
        public static let proven = Self(rawValue: "proven")
        /// A provider that does not run the mailbox verified it once.
        public static let stated = Self(rawValue: "stated")
        /// Not verified.
        public static let claimed = Self(rawValue: "claimed")
    }

    /// A way to sign in with a provider.
    public struct Identity: Sendable, Equatable, Identifiable {
        /// The person's authorization at the provider, as far as the server holds it. Open, because a newer server may
        /// name more.
        public struct Authorization: RawRepresentable, Sendable, Hashable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            public static let none = Self(rawValue: "none")
            public static let active = Self(rawValue: "active")
            public static let revoking = Self(rawValue: "revoking")
            public static let revoked = Self(rawValue: "revoked")
        }

        /// The server's `identityId`.
        public let id: String
        public let provider: IdentityProvider
        /// The provider's `sub`.
        public let subject: String
        public let email: String?
        public let isEmailVerified: Bool
        /// An address of Apple's relay.
        public let isPrivateEmail: Bool
        /// Whether the relay passes mail on; nil while Apple has said nothing of it.
        public let isEmailDeliverable: Bool?
        public let linkedAt: Date
        public let lastSignInAt: Date?
        public let authorization: Authorization
        /// The provider has disabled the person's account there: sign-ins with it are refused with `account_disabled`.
        public let isBlocked: Bool
        /// The provider wants the person to change their password there.
        public let isCredentialChangeRequired: Bool
    }

    /// The server's `accountId`.
    public let id: String
    /// What the person is known by in the system that they were imported from.
    public let externalID: String?
    public let email: String?
    public let isEmailVerified: Bool
    public let emailProof: EmailProof?
    /// When another account took the address, whose person reads the mailbox now: ask for another one.
    public let emailTakenAt: Date?
    /// What support is about to put in the place of the address.
    public let emailReplacement: EmailReplacement?
    public let displayName: String?
    public let status: Status
    public let createdAt: Date
    public let hasPassword: Bool
    public let identities: [Identity]
}

/// A new address that an administrator has entered for an account whose person lost their mailbox. Show it with a way to
/// stop it, ``SignInClient/cancelEmailReplacement()``: the mail that announced it sends people to where they sign in.
public struct EmailReplacement: Sendable, Equatable {
    public let maskedEmail: String
    /// When it takes effect.
    public let dueAt: Date
}
