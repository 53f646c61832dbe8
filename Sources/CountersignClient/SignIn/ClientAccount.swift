public import Foundation

/// An account as its owner sees it.
public struct ClientAccount: Sendable, Equatable, Identifiable {
    /// Open, because a newer server may name more.
    public struct Status: RawRepresentable, Sendable, Hashable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public static let active = Self(rawValue: "active")
        public static let disabled = Self(rawValue: "disabled")
    }

    /// How well the address is known to be the account's. Open, because a newer server may name more.
    public struct EmailProof: RawRepresentable, Sendable, Hashable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// By the mailbox itself.
        public static let proven = Self(rawValue: "proven")
        /// A provider that does not run the mailbox verified it once.
        public static let stated = Self(rawValue: "stated")
        /// Nobody did.
        public static let claimed = Self(rawValue: "claimed")
    }

    /// A way to sign in with a provider.
    public struct Identity: Sendable, Equatable, Identifiable {
        /// The person's authorization at the provider, as far as the server holds it. Open, because a newer server may
        /// name more.
        public struct Authorization: RawRepresentable, Sendable, Hashable {
            public let rawValue: String

            public init(rawValue: String) {
                self.rawValue = rawValue
            }

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
    }

    /// The server's `accountId`.
    public let id: String
    public let email: String?
    public let isEmailVerified: Bool
    public let emailProof: EmailProof?
    public let displayName: String?
    public let status: Status
    public let createdAt: Date
    public let hasPassword: Bool
    public let identities: [Identity]
}
