package import Accounts
import Storage
package import Webhooks

/// An endpoint: what the configuration and the database say of it.
package struct WebhookSummary: Sendable {
    package let endpoint: WebhookEndpoint
    package let record: WebhookRecord
    /// Of the oldest event that is neither delivered nor given up.
    package let behindSeconds: Int64
    /// Since an event was given up, the last time.
    package let givenUpSecondsAgo: Int64?
}

/// The endpoint behind which a list of them continues.
package struct WebhookCursor: Sendable {
    package let name: String

    package init(name: String) { self.name = name }
}

/// What came of a test.
package struct WebhookTest: Sendable {
    package let outcome: WebhookOutcome

    package var isDelivered: Bool { if case .delivered = outcome { true } else { false } }
}

/// Where a replay begins.
package enum ReplayStart: Sendable {
    case since(Timestamp)
    /// That event alone.
    case event(AccountEventID)
}

extension Administration {
    private var webhookStore: WebhookStore { WebhookStore(database: database) }
    private var feedStore: FeedStore { FeedStore(database: database) }

    /// Whether any endpoint is set up.
    package var hasWebhooks: Bool { !pushed().endpoints.isEmpty }

    /// By name.
    package func webhooks() async throws(AdministrationFailure) -> [WebhookSummary] {
        try await webhooks(after: nil, limit: .max).items
    }

    package func webhooks(
        after cursor: WebhookCursor?, limit: Int
    ) async throws(AdministrationFailure) -> Page<WebhookSummary, WebhookCursor> {
        let names = pushed().endpoints.keys.sorted().drop(while: { name in cursor.map { name <= $0.name } ?? false })
        let page = Page(Array(names), limit: limit) { WebhookCursor(name: $0) }
        var summaries: [WebhookSummary] = []
        for name in page.items { summaries.append(try await webhook(name)) }
        return Page(items: summaries, next: page.next)
    }

    package func webhook(_ name: String) async throws(AdministrationFailure) -> WebhookSummary {
        let endpoint = try endpoint(name)
        let now = clock.now()
        // One that the service has not seen yet has no state.
        let record =
            try await stored { try await webhookStore.record(of: name, types: endpoint.types) }
            ?? WebhookRecord(
                name: name, status: .active, reason: nil, oldest: nil, failures: 0, lastGivenUpAt: nil,
                parkedAccounts: 0, nextAttemptAt: nil, lastSuccessAt: nil, lastError: nil)
        func age(_ time: Timestamp) -> Int64 { max(0, now.seconds - time.seconds) }
        return WebhookSummary(
            endpoint: endpoint, record: record,
            behindSeconds: record.oldest.map(age) ?? 0, givenUpSecondsAgo: record.lastGivenUpAt.map(age))
    }

    /// Posts an event to it that is in no feed, also while it is paused. That is recorded before: none is posted that the
    /// trail does not have.
    package func testWebhook(
        _ name: String, by administrator: Administrator
    ) async throws(AdministrationFailure) -> WebhookTest {
        let endpoint = try endpoint(name)
        guard let sender else { throw .notFound }
        let event = AuditEvent(.webhookTested, from: administrator.call.origin, reason: name)
        try await stored { try await trail.record(event, by: administrator.call) }
        let outcome = await sender.test(endpoint)
        guard outcome != .busy, outcome != .untried else { throw .overloaded(retryAfter: 1) }
        return WebhookTest(outcome: outcome)
    }

    /// Pauses or resumes it.
    package func setWebhook(
        _ name: String, to status: WebhookStatus, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> (webhook: WebhookSummary, isChanged: Bool) {
        _ = try endpoint(name)
        let isChanged = try await stored {
            try await webhookStore.set(status, of: name, reason: reason, by: administrator.call)
        }
        return (try await webhook(name), isChanged)
    }

    /// - Parameter types: if absent all that the endpoint gets; an event by its id is sent then whatever these are.
    /// - Returns: how many events are sent again.
    package func replayWebhook(
        _ name: String, _ start: ReplayStart, types: Set<AccountEvent.Kind>?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Int {
        let endpoint = try endpoint(name)
        switch start {
        case .since(let time):
            let ends = try await found { try await feedStore.ends() }
            let from = max(ends.dropped, FeedPosition(time.microseconds - 1))
            return try await stored {
                try await webhookStore.replay(
                    to: name, after: from, until: max(from, ends.last), types: types ?? endpoint.types,
                    reason: "since \(time.rfc3339)", by: administrator.call)
            }
        case .event(let id):
            let event = try await found { try await webhookStore.event(id, of: name) }
            return try await stored {
                try await webhookStore.replay(
                    event, to: name, types: types, reason: "event \(id)", by: administrator.call)
            }
        }
    }

    package func webhookFailures(
        _ name: String, before cursor: AccountEventID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<WebhookFailure, AccountEventID> {
        _ = try endpoint(name)
        return try await stored { try await webhookStore.failures(of: name, before: cursor, limit: limit) }
    }

    private func endpoint(_ name: String) throws(AdministrationFailure) -> WebhookEndpoint {
        guard let endpoint = pushed().endpoints[name] else { throw .notFound }
        return endpoint
    }
}
