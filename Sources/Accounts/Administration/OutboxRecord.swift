package enum OutboxStatus: String, CaseIterable, Sendable {
    case pending
    /// Of a revocation: the provider honours no token of the authorization any more, or there was none.
    case done
    /// Given up after too many tries. An operator may try a revocation again.
    case failed
}

/// A row of the outbox: an effect outside of the database, which a worker carries out.
package struct OutboxRecord: Sendable {
    package let id: OutboxID
    /// `revocation` or `mail`.
    package let kind: String
    package let status: OutboxStatus
    package let provider: String?
    package let identityID: IdentityID?
    /// The template of a mail.
    package let template: String?
    package let attempts: Int
    package let lastError: String?
    package let createdAt: Timestamp
    package let finishedAt: Timestamp?

    package init(
        id: OutboxID, kind: String, status: OutboxStatus, provider: String?, identityID: IdentityID?, template: String?,
        attempts: Int, lastError: String?, createdAt: Timestamp, finishedAt: Timestamp?
    ) {
        self.id = id
        self.kind = kind
        self.status = status
        self.provider = provider
        self.identityID = identityID
        self.template = template
        self.attempts = attempts
        self.lastError = lastError
        self.createdAt = createdAt
        self.finishedAt = finishedAt
    }
}

/// The unfinished rows of one kind.
package struct OutboxBacklog: Sendable {
    package let pending: Int
    /// When the oldest pending row was created, but for mails that wait for their recipient's sake, or that the
    /// mail server may have.
    package let oldest: Timestamp?
    /// Rows that were given up, and are kept for an operator.
    package let failed: Int
    /// When the last of them was.
    package let lastFailed: Timestamp?

    package init(pending: Int, oldest: Timestamp?, failed: Int = 0, lastFailed: Timestamp? = nil) {
        self.pending = pending
        self.oldest = oldest
        self.failed = failed
        self.lastFailed = lastFailed
    }
}

package enum OutboxMessage {}
package typealias OutboxID = Identifier<OutboxMessage>
