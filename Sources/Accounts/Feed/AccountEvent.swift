/// What happened to an account, as the customer's own backend learns of it (docs/feed.md). It holds ids and words of this
/// page alone: never an address, a name, a token, a network or an operator's text.
package struct AccountEvent: Sendable {
    package let accountID: AccountID
    /// Given where the row of the account is gone when the event is written.
    package let externalID: ExternalID?
    package let happening: Happening

    package init(_ happening: Happening, of accountID: AccountID, externalID: ExternalID? = nil) {
        self.happening = happening
        self.accountID = accountID
        self.externalID = externalID
    }

    /// The type as it is on the wire. Receivers switch on it; a test pins the list.
    package enum Kind: String, CaseIterable, Sendable {
        case accountCreated = "account.created"
        case accountDeleted = "account.deleted"
        case accountDisabled = "account.disabled"
        case accountEnabled = "account.enabled"
        case accountMerged = "account.merged"
        case emailChanged = "account.email_changed"
        case passwordChanged = "account.password_changed"
        case identityLinked = "identity.linked"
        case identityUnlinked = "identity.unlinked"
        case authorizationRevoked = "authorization.revoked"
        case sessionRevoked = "session.revoked"
        case clientLinked = "client.linked"
        case clientUnlinked = "client.unlinked"

        /// Types between commas; `nil` when one is none.
        package static func list(_ text: String) -> Set<Kind>? {
            let names = text.split(separator: ",", omittingEmptySubsequences: false)
            let kinds = names.compactMap { Kind(rawValue: String($0)) }
            return kinds.count == names.count ? Set(kinds) : nil
        }
    }

    package enum Birth: String, Sendable {
        /// With an address and a password.
        case signUp
        /// Of a link ticket.
        case create
        case `import`
        /// At the request of a client of the OAuth server.
        case streamlined
    }

    /// On whose account it happened.
    package enum Cause: String, Sendable {
        case person
        case admin
        case provider
        /// A rule of the service.
        case policy
        /// A client of the OAuth server.
        case client
        /// The person, who had forgotten the password.
        case reset

        /// Of what a call does. A worker carries out rules.
        package init(_ origin: ChangeOrigin) {
            switch origin.actor {
            case .person: self = .person
            case .operator, .administrator: self = .admin
            case .provider: self = .provider
            case .service: self = .policy
            }
        }
    }

    package enum Reason: String, Sendable {
        case emailReclaimed = "email_reclaimed"
        case providerAccountDeleted = "provider_account_deleted"
        case importUndone = "import_undone"
    }

    package enum Happening: Sendable {
        /// An account's first event.
        case accountCreated(by: Birth)
        /// The last one, but for the revocations that it has asked for.
        case accountDeleted(by: Cause, Reason? = nil)
        case accountDisabled(by: Cause, Reason? = nil)
        case accountEnabled(by: Cause)
        /// The last event of an account that a bind has emptied.
        case accountMerged(into: AccountID)
        /// The degree after it; `nil` when the account has no address any more.
        case emailChanged(EmailProof?, by: Cause)
        case passwordChanged(by: Cause)
        case identityLinked(IdentityID, Provider, by: Cause)
        case identityUnlinked(IdentityID, Provider, by: Cause)
        /// A revocation that was asked for is done.
        case authorizationRevoked(IdentityID, Provider)
        /// - Parameter count: how many ended; the ids are those of the first.
        case sessionRevoked([SessionID], count: Int, by: Cause)
        case clientLinked(OAuthClientID, by: Cause)
        case clientUnlinked(OAuthClientID, by: Cause)

        package var kind: Kind {
            switch self {
            case .accountCreated: .accountCreated
            case .accountDeleted: .accountDeleted
            case .accountDisabled: .accountDisabled
            case .accountEnabled: .accountEnabled
            case .accountMerged: .accountMerged
            case .emailChanged: .emailChanged
            case .passwordChanged: .passwordChanged
            case .identityLinked: .identityLinked
            case .identityUnlinked: .identityUnlinked
            case .authorizationRevoked: .authorizationRevoked
            case .sessionRevoked: .sessionRevoked
            case .clientLinked: .clientLinked
            case .clientUnlinked: .clientUnlinked
            }
        }
    }

    /// The sessions that an event names at most.
    package static let namedSessions = 100
}

package typealias AccountEventID = Identifier<AccountEvent>

extension AccountEvent {
    /// One event for what one cause does to the sessions of an account within a change.
    ///
    /// - Returns: both in one; `nil` when they are two things.
    package func joined(with next: AccountEvent) -> AccountEvent? {
        guard next.accountID == accountID,
            case .sessionRevoked(let ids, let count, let cause) = happening,
            case .sessionRevoked(let others, let more, cause) = next.happening
        else { return nil }
        return AccountEvent(
            .sessionRevoked(Array((ids + others).prefix(Self.namedSessions)), count: count + more, by: cause),
            of: accountID)
    }
}

/// An event of the feed.
package struct FeedEvent: Sendable {
    package let position: FeedPosition
    package let id: AccountEventID
    package let type: String
    package let accountID: AccountID
    package let externalID: String?
    /// Of the account: 1, 2, 3 …
    package let sequence: Int64
    /// The further members of `data`, as a JSON object.
    package let members: String
    package let happenedAt: Timestamp

    package init(
        position: FeedPosition, id: AccountEventID, type: String, accountID: AccountID, externalID: String?,
        sequence: Int64, members: String, happenedAt: Timestamp
    ) {
        self.position = position
        self.id = id
        self.type = type
        self.accountID = accountID
        self.externalID = externalID
        self.sequence = sequence
        self.members = members
        self.happenedAt = happenedAt
    }
}

/// A place in the feed: behind the event that has it. It grows, and has gaps.
package struct FeedPosition: Hashable, Comparable, Sendable {
    package let number: Int64

    package init(_ number: Int64) { self.number = number }

    package static let beginning = FeedPosition(0)

    package static func < (one: FeedPosition, other: FeedPosition) -> Bool { one.number < other.number }
}
