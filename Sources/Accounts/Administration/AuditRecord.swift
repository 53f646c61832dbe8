/// A row of the audit trail.
package struct AuditRecord: Sendable {
    package let id: AuditEventID
    package let type: String
    package let actor: String
    package let actorName: String?
    package let accountID: AccountID?
    package let identityID: IdentityID?
    package let sessionID: SessionID?
    package let revocationID: RevocationID?
    package let provider: String?
    package let tokenID: String?
    package let reason: String?
    package let requestID: String?
    package let network: Network?
    package let occurrences: Int
    package let createdAt: Timestamp

    package init(
        id: AuditEventID, type: String, actor: String, actorName: String?, accountID: AccountID?,
        identityID: IdentityID?, sessionID: SessionID?, revocationID: RevocationID?, provider: String?,
        tokenID: String?, reason: String?, requestID: String?, network: Network?, occurrences: Int, createdAt: Timestamp
    ) {
        self.id = id
        self.type = type
        self.actor = actor
        self.actorName = actorName
        self.accountID = accountID
        self.identityID = identityID
        self.sessionID = sessionID
        self.revocationID = revocationID
        self.provider = provider
        self.tokenID = tokenID
        self.reason = reason
        self.requestID = requestID
        self.network = network
        self.occurrences = occurrences
        self.createdAt = createdAt
    }
}

/// The conditions of a search in the audit trail. All that are given must hold.
package struct AuditFilter: Sendable {
    /// Who made it happen: a kind of party, or the name of a key or of a person.
    package enum ActorCondition: Sendable {
        case kind(AuditEvent.Actor)
        case name(String)

        /// `nil` for what can be neither.
        package init?(_ text: String) {
            if let kind = AuditEvent.Actor(rawValue: text) {
                self = .kind(kind)
            } else {
                guard AuditEvent.isActorName(text) else { return nil }
                self = .name(text)
            }
        }

        package var text: String {
            switch self {
            case .kind(let kind): kind.rawValue
            case .name(let name): name
            }
        }
    }

    package var actor: ActorCondition?
    package var accountID: AccountID?
    package var identityID: IdentityID?
    package var kind: AuditEvent.Kind?
    /// The IPv4 /24 or IPv6 /64, as rows have it.
    package var network: Network?
    package var requestID: String?
    package var since: Timestamp?
    /// Exclusive.
    package var until: Timestamp?

    package init() {}

    /// The conditions that are given, by the names that they have in queries.
    package var parameters: [(name: String, value: String)] {
        [
            ("actor", actor?.text), ("type", kind?.rawValue), ("accountId", accountID.map { "\($0)" }),
            ("identity", identityID.map { "\($0)" }), ("network", network?.text), ("request", requestID),
            ("since", since?.rfc3339), ("until", until?.rfc3339),
        ].compactMap { name, value in value.map { (name, $0) } }
    }
}

/// The row before which the next page of the audit trail begins.
package struct AuditCursor: Sendable {
    package let createdAt: Timestamp
    package let id: AuditEventID

    package init(createdAt: Timestamp, id: AuditEventID) {
        self.createdAt = createdAt
        self.id = id
    }
}

package typealias AuditEventID = Identifier<AuditEvent>
