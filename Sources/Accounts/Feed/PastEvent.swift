/// An event of the feed as a follower has kept it.
package struct PastEvent: Sendable {
    package let id: AccountEventID
    package let accountID: AccountID
    package let sequence: Int64
    package let happenedAt: Timestamp
    package let meaning: Meaning

    /// What is of use in a database that was restored to a time before it.
    package enum Meaning: Sendable {
        case accountCreated
        case accountDeleted
        case accountMerged(into: AccountID)
        case accountDisabled
        case accountEnabled
        case emailChanged
        case passwordChanged
        case identityLinked
        case identityUnlinked(IdentityID)
        case authorizationRevoked(IdentityID)
        /// - Parameter areAll: whether these are all that ended.
        case sessionsEnded([SessionID], areAll: Bool)
        case clientLinked(OAuthClientID)
        case clientUnlinked(OAuthClientID)
        /// It changes nothing there.
        case other
    }

    package init(id: AccountEventID, accountID: AccountID, sequence: Int64, happenedAt: Timestamp, meaning: Meaning) {
        self.id = id
        self.accountID = accountID
        self.sequence = sequence
        self.happenedAt = happenedAt
        self.meaning = meaning
    }
}

/// How far an account had come by events that are too old to be acted on.
package struct ReachedNumber: Sendable {
    /// The highest.
    package private(set) var sequence: Int64 = 0
    /// Whether the account was deleted or merged.
    package private(set) var hasEnded = false

    package init() {}

    package mutating func add(_ event: PastEvent) {
        sequence = max(sequence, event.sequence)
        switch event.meaning {
        case .accountDeleted, .accountMerged: hasEnded = true
        default: break
        }
    }
}

/// What had ended of an account before its database was restored, by the events that the database lacks.
package struct EndedParts: Sendable {
    package private(set) var isDeleted = false
    /// The account that has its identity.
    package private(set) var mergedInto: AccountID?
    package private(set) var isDisabled = false
    package private(set) var identities: Set<IdentityID> = []
    package private(set) var authorizations: Set<IdentityID> = []
    package private(set) var clients: Set<OAuthClientID> = []
    package private(set) var sessions: Set<SessionID> = []
    /// All sessions that were opened before.
    package private(set) var sessionsBefore: Timestamp?
    /// When the password was last changed.
    package private(set) var passwordChangedAt: Timestamp?
    /// Whether the address, or what is known of it, was changed.
    package private(set) var isEmailChanged = false
    /// Whether something is as it was before: an address, a password, a link, a block.
    package private(set) var isOutdated = false

    /// - Parameter events: in the order of their sequence.
    package init(_ events: some Sequence<PastEvent>) {
        for event in events {
            switch event.meaning {
            case .accountCreated, .other: break
            case .accountDeleted: isDeleted = true
            case .accountMerged(let heir):
                mergedInto = heir
                sessionsBefore = event.happenedAt.advanced(bySeconds: 1)
            case .accountDisabled: isDisabled = true
            case .accountEnabled: (isDisabled, isOutdated) = (false, true)
            case .emailChanged: (isEmailChanged, isOutdated) = (true, true)
            case .passwordChanged: (passwordChangedAt, isOutdated) = (event.happenedAt, true)
            case .identityLinked: isOutdated = true
            case .identityUnlinked(let id): identities.insert(id)
            case .authorizationRevoked(let id): authorizations.insert(id)
            case .sessionsEnded(let ids, let areAll):
                sessions.formUnion(ids)
                // The feed has whole seconds: the event is of any moment of this one.
                if !areAll { sessionsBefore = event.happenedAt.advanced(bySeconds: 1) }
            case .clientLinked(let client):
                clients.remove(client)
                isOutdated = true
            case .clientUnlinked(let client): clients.insert(client)
            }
        }
        authorizations.subtract(identities)
    }
}

/// What was ended again.
package struct ReconciledParts: Sendable {
    package var accountsDeleted = 0
    package var accountsDisabled = 0
    package var identities = 0
    package var authorizations = 0
    package var clients = 0
    package var sessions = 0
    package var passwords = 0
    /// Pending replacements of an address.
    package var emailReplacements = 0
    package var consoleSessions = 0
    /// Accounts that the database does not have: made after what it was restored to.
    package var accountsLost = 0
    /// Accounts of which something is as it was before, which ids can't bring forward.
    package var accountsOutdated: Set<AccountID> = []
    /// Events that no one has handed over: their numbers are missing.
    package var eventsMissing = 0
    /// Events that the database lacks, and that were left out as older than what it was restored to.
    package var eventsTooOld = 0

    package init() {}

    package static func += (sum: inout ReconciledParts, part: ReconciledParts) {
        sum.accountsDeleted += part.accountsDeleted
        sum.accountsDisabled += part.accountsDisabled
        sum.identities += part.identities
        sum.authorizations += part.authorizations
        sum.clients += part.clients
        sum.sessions += part.sessions
        sum.passwords += part.passwords
        sum.emailReplacements += part.emailReplacements
        sum.consoleSessions += part.consoleSessions
        sum.accountsLost += part.accountsLost
        sum.accountsOutdated.formUnion(part.accountsOutdated)
        sum.eventsMissing += part.eventsMissing
        sum.eventsTooOld += part.eventsTooOld
    }
}
