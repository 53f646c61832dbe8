public import Foundation

/// What an OAuth server has granted, with labels of whose it is.
public struct OAuthTokens: Sendable, Equatable {
    public var accessToken: String?
    public var refreshToken: String?
    /// Read for labels and never verified here: it proves nothing.
    public var idToken: String?
    public var scope: String?
    /// When the access token ends. Nil: not known, taken as fresh. In the past where an older library wanted a refresh
    /// first, or kept no expiry.
    public var expiresAt: Date?
    public var userID: String?
    public var userEmail: String?
    public var userEmailIsVerified: Bool

    public init(
        accessToken: String? = nil, refreshToken: String? = nil, idToken: String? = nil, scope: String? = nil,
        expiresAt: Date? = nil, userID: String? = nil, userEmail: String? = nil, userEmailIsVerified: Bool = false
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.scope = scope
        self.expiresAt = expiresAt
        self.userID = userID
        self.userEmail = userEmail
        self.userEmailIsVerified = userEmailIsVerified
    }
}

extension OAuthTokens: Codable {
    private enum CodingKeys: CodingKey {
        case accessToken
        case refreshToken
        case idToken
        case scope
        case expiresAt
        case userID
        case userEmail
        case userEmailIsVerified
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            accessToken: try container.decodeIfPresent(String.self, forKey: .accessToken),
            refreshToken: try container.decodeIfPresent(String.self, forKey: .refreshToken),
            idToken: try container.decodeIfPresent(String.self, forKey: .idToken),
            scope: try container.decodeIfPresent(String.self, forKey: .scope),
            expiresAt: try container.decodeIfPresent(Int.self, forKey: .expiresAt).map(Timestamp.date),
            userID: try container.decodeIfPresent(String.self, forKey: .userID),
            userEmail: try container.decodeIfPresent(String.self, forKey: .userEmail),
            userEmailIsVerified: try container.decodeIfPresent(Bool.self, forKey: .userEmailIsVerified) ?? false)
    }

    /// The date in whole seconds since 1970.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(accessToken, forKey: .accessToken)
        try container.encodeIfPresent(refreshToken, forKey: .refreshToken)
        try container.encodeIfPresent(idToken, forKey: .idToken)
        try container.encodeIfPresent(scope, forKey: .scope)
        try container.encodeIfPresent(expiresAt.map(Timestamp.seconds), forKey: .expiresAt)
        try container.encodeIfPresent(userID, forKey: .userID)
        try container.encodeIfPresent(userEmail, forKey: .userEmail)
        try container.encode(userEmailIsVerified, forKey: .userEmailIsVerified)
    }
}

extension OAuthTokens: Redacted {
    public var description: String {
        "OAuthTokens(access: \(redacted(accessToken)), refresh: \(redacted(refreshToken)), id: \(redacted(idToken)))"
    }
}
