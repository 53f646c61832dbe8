public import Foundation

/// A verified person for whom the app has to choose: create an account, or bind to one that exists. Good for one success
/// within ten minutes.
///
/// Its value is a secret that no description shows; the coded form holds it, so keep that where tokens are kept.
public struct LinkTicket: Sendable, Equatable {
    public enum Choice: String, Sendable {
        case create
        case bind
    }

    let value: String
    /// The server's order, its suggestion first. Those that this version does not know are left out.
    public let choices: [Choice]
    public let expiresAt: Date
    public let provider: IdentityProvider
    /// The address that the provider stated.
    public let email: String?
    public let isEmailVerified: Bool
    /// An address of Apple's relay.
    public let isPrivateEmail: Bool
    /// Whose address it is, where the server says so.
    public let holder: LinkHolder?

    /// Whether ``BindProof/ticket`` is proof enough: its person reads the mailbox of the holder, and is shown its age and
    /// its identities, of which there may be none. Else *bind* needs a session, a password or a mailed code.
    public var provesHolder: Bool { holder?.createdAt != nil }
}

/// What a ticket's person may see of the account that has their address.
public struct LinkHolder: Sendable, Equatable {
    public struct Identity: Sendable, Equatable, Codable {
        public let provider: IdentityProvider
        public let maskedEmail: String?
        public let linkedAt: Date
    }

    public let providers: [IdentityProvider]
    /// nil when the server names the providers alone.
    public let createdAt: Date?
    /// Empty then too, and for an account that no provider opens.
    public let identities: [Identity]
}

extension LinkTicket: Redacted {
    public var description: String {
        "LinkTicket(\(redacted(value)), provider: \(provider.rawValue), choices: \(choices.map(\.rawValue)))"
    }
}

extension LinkTicket: Codable {
    private enum CodingKeys: CodingKey {
        case ticket
        case choices
        case expiresAt
        case provider
        case email
        case isEmailVerified
        case isPrivateEmail
        case holder
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        value = try container.decode(String.self, forKey: .ticket)
        choices = try container.decode([String].self, forKey: .choices).compactMap(Choice.init)
        expiresAt = Timestamp.date(try container.decode(Int.self, forKey: .expiresAt))
        provider = try container.decode(IdentityProvider.self, forKey: .provider)
        email = try container.decodeIfPresent(String.self, forKey: .email)
        isEmailVerified = try container.decode(Bool.self, forKey: .isEmailVerified)
        isPrivateEmail = try container.decode(Bool.self, forKey: .isPrivateEmail)
        holder = try container.decodeIfPresent(LinkHolder.self, forKey: .holder)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(value, forKey: .ticket)
        try container.encode(choices.map(\.rawValue), forKey: .choices)
        try container.encode(Timestamp.seconds(expiresAt), forKey: .expiresAt)
        try container.encode(provider, forKey: .provider)
        try container.encodeIfPresent(email, forKey: .email)
        try container.encode(isEmailVerified, forKey: .isEmailVerified)
        try container.encode(isPrivateEmail, forKey: .isPrivateEmail)
        try container.encodeIfPresent(holder, forKey: .holder)
    }
}

extension LinkHolder: Codable {
    private enum CodingKeys: CodingKey {
        case providers
        case createdAt
        case identities
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        providers = try container.decode([IdentityProvider].self, forKey: .providers)
        createdAt = try container.decodeIfPresent(Int.self, forKey: .createdAt).map(Timestamp.date)
        identities = try container.decode([Identity].self, forKey: .identities)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(providers, forKey: .providers)
        try container.encodeIfPresent(createdAt.map(Timestamp.seconds), forKey: .createdAt)
        try container.encode(identities, forKey: .identities)
    }
}

extension LinkHolder.Identity {
    private enum CodingKeys: CodingKey {
        case provider
        case maskedEmail
        case linkedAt
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            provider: try container.decode(IdentityProvider.self, forKey: .provider),
            maskedEmail: try container.decodeIfPresent(String.self, forKey: .maskedEmail),
            linkedAt: Timestamp.date(try container.decode(Int.self, forKey: .linkedAt)))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(provider, forKey: .provider)
        try container.encodeIfPresent(maskedEmail, forKey: .maskedEmail)
        try container.encode(Timestamp.seconds(linkedAt), forKey: .linkedAt)
    }
}
