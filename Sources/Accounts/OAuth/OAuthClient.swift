import Primitives

/// The `client_id` of a client of the OAuth server: 1 to 128 printable ASCII characters.
package struct OAuthClientID: ExactString, Codable {
    package let text: String

    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }
}

/// A client of the OAuth server: what may be granted to it, and how it works.
package struct OAuthClient: Hashable, Sendable {
    package enum Status: String, CaseIterable, Sendable {
        case active
        /// Nothing that it has opens anything. Its grants are kept.
        case disabled
    }

    package let id: OAuthClientID
    package var name: String
    package var redirectURIs: [OAuthRedirectURI]
    /// Nil for all that are configured.
    package var scopes: OAuthScopes?
    /// What the `aud` of its assertions may be: client IDs of Google's. Empty: no streamlined linking.
    package var assertionAudiences: [String]
    package var requiresPKCE: Bool
    package var rotatesRefresh: Bool
    package var createsAccounts: Bool
    /// Whether it may look at the tokens of all clients.
    package var introspects: Bool
    package let status: Status
    package let createdAt: Timestamp
    /// Until when the secret before the last rotation counts, or has counted, beside its own; nil where none was kept.
    package let previousSecretExpiresAt: Timestamp?

    package init(
        id: OAuthClientID, name: String, redirectURIs: [OAuthRedirectURI], scopes: OAuthScopes? = nil,
        assertionAudiences: [String] = [], requiresPKCE: Bool = false, rotatesRefresh: Bool = false,
        createsAccounts: Bool = true, introspects: Bool = false, status: Status = .active, createdAt: Timestamp,
        previousSecretExpiresAt: Timestamp? = nil
    ) {
        self.id = id
        self.name = name
        self.redirectURIs = redirectURIs
        self.scopes = scopes
        self.assertionAudiences = assertionAudiences
        self.requiresPKCE = requiresPKCE
        self.rotatesRefresh = rotatesRefresh
        self.createsAccounts = createsAccounts
        self.introspects = introspects
        self.status = status
        self.createdAt = createdAt
        self.previousSecretExpiresAt = previousSecretExpiresAt
    }

    /// Whether the secret before the last rotation still counts.
    package func keepsPreviousSecret(at now: Timestamp) -> Bool { previousSecretExpiresAt.map { $0 > now } ?? false }

    /// The scopes that may be granted to it.
    ///
    /// - Parameter configured: those of the server.
    package func allowedScopes(of configured: OAuthScopes) -> OAuthScopes {
        scopes.map(configured.intersection) ?? configured
    }

    /// Whether it is Google, which gets no `iss` in its redirects.
    package var isGoogles: Bool { redirectURIs.contains(where: \.isGoogles) }

    /// The registered redirect URI that a request's is.
    package func redirectURI(matching requested: String) -> OAuthRedirectURI? {
        redirectURIs.first { $0.matches(requested) }
    }

    /// Whether a URI is a registered one, byte for byte.
    package func registers(_ uri: String) -> Bool { redirectURIs.contains { $0.text.hasSameBytes(as: uri) } }

    /// Whether a new client may have a name: it appears on pages, in mails and in lists.
    package static func isName(_ text: String) -> Bool { AdminKey.isName(text) }

    /// The text, if it can be a name.
    package static func name(_ text: String) -> String? { isName(text) ? text : nil }

    /// Whether a text can be an `aud`: 1 to 255 printable ASCII characters.
    package static func isAudience(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

/// A client that is linked to an account, as the account's owner sees it.
package struct LinkedClient: Hashable, Sendable {
    package let clientID: OAuthClientID
    package let name: String
    /// All that were granted, whenever.
    package let scopes: OAuthScopes
    package let linkedAt: Timestamp
    package let lastUsedAt: Timestamp?
    /// Whether the client is disabled, so that the link opens nothing now.
    package let isDisabled: Bool

    package init(
        clientID: OAuthClientID, name: String, scopes: OAuthScopes, linkedAt: Timestamp, lastUsedAt: Timestamp?,
        isDisabled: Bool
    ) {
        self.clientID = clientID
        self.name = name
        self.scopes = scopes
        self.linkedAt = linkedAt
        self.lastUsedAt = lastUsedAt
        self.isDisabled = isDisabled
    }
}

/// A place in the list of the clients of an account, the oldest link first.
package struct LinkedClientCursor: Hashable, Sendable {
    package let linkedAt: Timestamp
    package let clientID: OAuthClientID

    package init(linkedAt: Timestamp, clientID: OAuthClientID) {
        self.linkedAt = linkedAt
        self.clientID = clientID
    }
}

/// Where a grant to a client came from.
package enum OAuthOrigin: String, CaseIterable, Sendable {
    /// The browser.
    case web
    /// App Flip.
    case flip
    /// An assertion of Google's.
    case assertion
}

package typealias OAuthGrantID = Identifier<OAuthClient>
package typealias OAuthChainID = Identifier<OAuthOrigin>
