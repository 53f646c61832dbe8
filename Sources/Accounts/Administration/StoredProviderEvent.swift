/// A stored provider event, as an operator sees it.
package struct StoredProviderEvent: Sendable {
    package enum Status: String, CaseIterable, Sendable {
        case pending
        case done
        /// A newer consent or a newer event takes precedence.
        case outdated
        case unknownSubject = "unknown_subject"
        case unknownType = "unknown_type"
    }

    package let id: ProviderEventID
    /// As stored: an operator sees the event of a provider that this release doesn't know as well.
    package let provider: String
    /// The `jti` of the token that delivered it.
    package let tokenID: String
    package let type: String
    package let subject: String?
    package let detail: String?
    /// As stored: a newer release may have written a word that is no ``Status`` here.
    package let status: String
    package let occurredAt: Timestamp
    package let receivedAt: Timestamp
    package let processedAt: Timestamp?

    package init(
        id: ProviderEventID, provider: String, tokenID: String, type: String, subject: String?, detail: String?,
        status: String, occurredAt: Timestamp, receivedAt: Timestamp, processedAt: Timestamp?
    ) {
        self.id = id
        self.provider = provider
        self.tokenID = tokenID
        self.type = type
        self.subject = subject
        self.detail = detail
        self.status = status
        self.occurredAt = occurredAt
        self.receivedAt = receivedAt
        self.processedAt = processedAt
    }

    package var isPending: Bool { status == Status.pending.rawValue }
}
