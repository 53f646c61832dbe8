/// A stored provider event, as an operator sees it.
package struct StoredProviderEvent: Sendable {
    package let id: ProviderEventID
    /// As stored: an operator sees the event of a provider that this release doesn't know as well.
    package let provider: String
    /// The `jti` of the token that delivered it.
    package let tokenID: String
    package let type: String
    package let subject: String?
    package let detail: String?
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
}
