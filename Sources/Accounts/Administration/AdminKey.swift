/// An API key of an administrator.
package struct AdminKey: Hashable, Sendable {
    /// A permission of a key. None of them includes another, but that `read` opens the feed too.
    package enum Scope: String, CaseIterable, Sendable {
        /// Read accounts, identities, revocations and what was recorded.
        case read
        /// End authorizations at the providers.
        case revoke
        /// Disable, sign out, unlink, delete, replay.
        case manage
        /// Read the feed, and nothing else.
        case feed

        /// Those of which one is enough.
        package var openers: Set<Scope> { self == .feed ? [.feed, .read] : [self] }
    }

    package let id: AdminKeyID
    package let name: String
    package let scopes: Set<Scope>
    package let createdAt: Timestamp
    /// Accurate to the minute.
    package let lastUsedAt: Timestamp?
    package let revokedAt: Timestamp?

    package init(
        id: AdminKeyID, name: String, scopes: Set<Scope>, createdAt: Timestamp, lastUsedAt: Timestamp? = nil,
        revokedAt: Timestamp? = nil
    ) {
        self.id = id
        self.name = name
        self.scopes = scopes
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.revokedAt = revokedAt
    }

    /// Whether it is for more than the feed, which opens nothing else.
    package var opensConsole: Bool { scopes != [.feed] }

    /// Whether a new key may have a name: it appears in the audit trail and in lists, as it is.
    package static func isName(_ text: String) -> Bool { AuditEvent.isActorName(text) && DisplayName.isLegible(text) }
}

package typealias AdminKeyID = Identifier<AdminKey>
