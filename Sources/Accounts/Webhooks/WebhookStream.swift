/// What is pushed to an endpoint: the feed from a position on, or a stretch of it once more.
package struct WebhookStream: Sendable {
    /// The replays that an endpoint may have under way.
    package static let maximumReplays = 10

    package let id: WebhookStreamID
    package let position: FeedPosition
    /// Of a replay.
    package let end: FeedPosition?
    /// Of a replay; else those of the configuration.
    package let types: Set<AccountEvent.Kind>?

    package init(id: WebhookStreamID, position: FeedPosition, end: FeedPosition?, types: Set<AccountEvent.Kind>?) {
        self.id = id
        self.position = position
        self.end = end
        self.types = types
    }
}

package typealias WebhookStreamID = Identifier<WebhookStream>

package enum WebhookStatus: String, CaseIterable, Sendable {
    case active
    /// By an administrator.
    case paused
    /// By the receiver, or because nothing succeeded for five days.
    case stopped
}

/// An event at which its account is parked: it failed, many follow it, or others behind it were delivered when a pusher ended.
package struct ParkedEvent: Sendable {
    package let accountID: AccountID
    package let position: FeedPosition
    /// Those that have failed.
    package let attempts: Int
    /// `nil` when the feed has it no more.
    package let event: FeedEvent?

    package init(accountID: AccountID, position: FeedPosition, attempts: Int, event: FeedEvent?) {
        self.accountID = accountID
        self.position = position
        self.attempts = attempts
        self.event = event
    }
}

/// An endpoint as administrators see it.
package struct WebhookRecord: Sendable {
    package let name: String
    package let status: WebhookStatus
    package let reason: String?
    /// Of the oldest event that is neither delivered nor given up.
    package let oldest: Timestamp?
    package let failures: Int
    package let lastGivenUpAt: Timestamp?
    /// Those that wait since an event of theirs failed.
    package let parkedAccounts: Int
    /// The next one of the accounts that are parked.
    package let nextAttemptAt: Timestamp?
    package let lastSuccessAt: Timestamp?
    package let lastError: String?

    package init(
        name: String, status: WebhookStatus, reason: String?, oldest: Timestamp?, failures: Int,
        lastGivenUpAt: Timestamp?, parkedAccounts: Int, nextAttemptAt: Timestamp?, lastSuccessAt: Timestamp?,
        lastError: String?
    ) {
        self.name = name
        self.status = status
        self.reason = reason
        self.oldest = oldest
        self.failures = failures
        self.lastGivenUpAt = lastGivenUpAt
        self.parkedAccounts = parkedAccounts
        self.nextAttemptAt = nextAttemptAt
        self.lastSuccessAt = lastSuccessAt
        self.lastError = lastError
    }
}

/// An event that was given up.
package struct WebhookFailure: Sendable {
    package let event: FeedEvent
    package let attempts: Int
    package let lastError: String
    package let givenUpAt: Timestamp

    package init(event: FeedEvent, attempts: Int, lastError: String, givenUpAt: Timestamp) {
        self.event = event
        self.attempts = attempts
        self.lastError = lastError
        self.givenUpAt = givenUpAt
    }
}
