public import Foundation

/// Where an older library has left a session.
public protocol LegacySource: Sendable {
    /// For reports; no secret.
    var name: String { get }
    /// The session; nil when nothing is there. Changes nothing.
    func load() throws -> LegacySession?
    /// Deletes it; nothing when nothing is there. Called only after the session is saved elsewhere, verified.
    func remove() throws
}

/// What GTMAppAuth stored, in an item with its archive.
public struct GTMAppAuthSource: LegacySource {
    public let name: String
    private let store: any SessionStore

    public init(store: any SessionStore, name: String = "GTMAppAuth") {
        self.store = store
        self.name = name
    }

    public func load() throws -> LegacySession? {
        guard let archive = try store.load(), !archive.isEmpty else { return nil }
        return try LegacySession(gtmAppAuthArchive: archive)
    }

    public func remove() throws { try store.remove() }
}

/// What GTMOAuth2, or GTMAppAuth in its format, stored: an item with its text.
public struct GTMOAuth2Source: LegacySource {
    public let name: String
    private let store: any SessionStore
    private let tokenURL: URL
    private let redirectURI: String
    private let clientID: String
    private let clientSecret: String?

    /// - Parameters:
    ///   - clientID: of the app that stored it, and the same for the secret.
    public init(
        store: any SessionStore, name: String = "GTMOAuth2", tokenURL: URL, redirectURI: String, clientID: String,
        clientSecret: String? = nil
    ) {
        self.store = store
        self.name = name
        self.tokenURL = tokenURL
        self.redirectURI = redirectURI
        self.clientID = clientID
        self.clientSecret = clientSecret
    }

    /// With the URLs that GTMAppAuth has for Google.
    public static func google(store: any SessionStore, clientID: String, clientSecret: String? = nil) -> Self {
        Self(
            store: store, tokenURL: OAuthConfiguration.google.tokenEndpoint, redirectURI: "urn:ietf:wg:oauth:2.0:oob",
            clientID: clientID, clientSecret: clientSecret)
    }

    /// A text that has labels and no token, as after a sign-out, is nothing.
    public func load() throws -> LegacySession? {
        guard let data = try store.load(), !data.isEmpty else { return nil }
        guard let text = String(validating: Array(data)) else { throw SessionError.storage("the item is no text") }
        guard !GTMOAuth2Text.isWithoutTokens(text) else { return nil }
        return try LegacySession(
            gtmOAuth2Persistence: text, tokenURL: tokenURL, redirectURI: redirectURI, clientID: clientID,
            clientSecret: clientSecret)
    }

    public func remove() throws { try store.remove() }
}

extension GTMAppAuthSource: Redacted {
    public var description: String { "GTMAppAuthSource(\(name))" }
}

extension GTMOAuth2Source: Redacted {
    public var description: String { "GTMOAuth2Source(\(name))" }
}
