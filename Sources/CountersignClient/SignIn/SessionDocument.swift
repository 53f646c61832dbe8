import Foundation

/// Everything that a client keeps in its store.
struct SessionDocument: Sendable, Equatable {
    var session: StoredSession?
    /// Names that Apple has given and the server may not have, by the `sub` of their person.
    var appleNames: [String: StoredName] = [:]
    /// URLs that requests of other apps have been answered with, by the request.
    var answers: [String: StoredAnswer] = [:]

    var isEmpty: Bool { self == SessionDocument() }

    /// Whether there is no session, or one of this account.
    func isOpen(only accountID: String) -> Bool { session.map { $0.accountID == accountID } ?? true }

    /// Whether there is no session, or this one.
    func isOpen(onlyBy sessionID: String) -> Bool { session.map { $0.sessionID == sessionID } ?? true }

    init() {}

    /// - Parameter data: what the store holds; nothing is an empty document.
    init(_ data: Data?) throws(SessionError) {
        self = try StoredForm.read(SessionDocument.self, data) ?? SessionDocument()
    }
}

struct StoredSession: Sendable, Equatable, Codable {
    var sessionID: String
    var accountID: String
    var accessToken: String
    /// Seconds since 1970.
    var accessExpiresAt: Int
    var refreshToken: String
    /// Seconds since 1970.
    var refreshExpiresAt: Int
    /// A server has rejected the access token.
    var needsRefresh: Bool?
    /// The identity that the person came with; nil after a password or a mailed code.
    var openedBy: String?

    /// Good for more than another minute.
    func isFresh(_ now: Date) -> Bool {
        needsRefresh != true && Double(accessExpiresAt) - now.timeIntervalSince1970 > 60
    }

    func isUnexpired(_ now: Date) -> Bool { Double(accessExpiresAt) > now.timeIntervalSince1970 }
}

struct StoredName: Sendable, Equatable, Codable {
    var givenName: String?
    var familyName: String?

    /// nil when there is nothing to send. Controls, which the server refuses, are left out, and what is longer than it
    /// takes (512) is cut.
    init?(_ name: PersonNameComponents?) {
        givenName = sendable(name?.givenName, maximumBytes: 512)
        familyName = sendable(name?.familyName, maximumBytes: 512)
        if givenName == nil && familyName == nil { return nil }
    }

    /// As a sign-in posts it.
    var json: JSONValue {
        var members: [String: JSONValue] = [:]
        if let givenName { members["givenName"] = .string(givenName) }
        if let familyName { members["familyName"] = .string(familyName) }
        return .object(members)
    }
}

struct StoredAnswer: Sendable, Equatable, Codable {
    var url: String
    /// Seconds since 1970.
    var expiresAt: Int
}

extension SessionDocument: Codable {
    private enum CodingKeys: CodingKey {
        case session
        case appleNames
        case answers
        /// Of an `OAuthSession`.
        case tokens
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if container.contains(.tokens) {
            throw DecodingError.dataCorruptedError(
                forKey: .tokens, in: container, debugDescription: "the document is that of an OAuth session")
        }
        session = try container.decodeIfPresent(StoredSession.self, forKey: .session)
        appleNames = try container.decodeIfPresent([String: StoredName].self, forKey: .appleNames) ?? [:]
        answers = try container.decodeIfPresent([String: StoredAnswer].self, forKey: .answers) ?? [:]
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(session, forKey: .session)
        if !appleNames.isEmpty { try container.encode(appleNames, forKey: .appleNames) }
        if !answers.isEmpty { try container.encode(answers, forKey: .answers) }
    }
}
