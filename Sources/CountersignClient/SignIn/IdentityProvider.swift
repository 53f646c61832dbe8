/// An identity provider. Not an enum: a newer server may have others.
public struct IdentityProvider: RawRepresentable, Sendable, Hashable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let apple = Self(rawValue: "apple")
    public static let google = Self(rawValue: "google")
    /// The mailbox itself, proven by a mailed code.
    public static let email = Self(rawValue: "email")
}
