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
    package let network: String?
    package let occurrences: Int
    package let createdAt: Timestamp

    package init(
        id: AuditEventID, type: String, actor: String, actorName: String?, accountID: AccountID?,
        identityID: IdentityID?, sessionID: SessionID?, revocationID: RevocationID?, provider: String?,
        tokenID: String?, reason: String?, requestID: String?, network: String?, occurrences: Int, createdAt: Timestamp
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
    package var accountID: AccountID?
    package var kind: AuditEvent.Kind?
    package var since: Timestamp?

    package init() {}
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
