public import Foundation

/// A session of the account, as its list of devices shows it.
public struct SignedInDevice: Sendable, Identifiable, Equatable {
    /// The server's `sessionId`.
    public let id: String
    /// The session that asks.
    public let isCurrent: Bool
    /// What the sign-in said of the device; see ``DeviceDescription``.
    public let name: String?
    public let platform: String?
    public let createdAt: Date
    /// Within the last hour of use: the server does not write it for each call.
    public let lastUsedAt: Date
    /// How the person signed in: `apple`, `google`, `pwd`, `otp`.
    public let methods: [String]
}

/// A service that may use the account, such as Google Home.
public struct LinkedService: Sendable, Identifiable, Equatable {
    /// The server's `clientId`.
    public let id: String
    public let name: String
    /// What it may do.
    public let scopes: [String]
    public let linkedAt: Date
    public let lastUsedAt: Date?
}
