import Accounts
import JSON

/// Members of the admin API's values.
extension JSONWriter {
    mutating func members(of record: AccountRecord) {
        members(of: record.account)
        member("disabledReason", record.disabledReason)
        if let replacement = record.emailReplacement {
            object("emailReplacement") { $0.members(of: replacement) }
        }
    }

    mutating func members(of replacement: EmailReplacement) {
        member("email", replacement.email.text)
        member("requestedAt", replacement.requestedAt.rfc3339)
        member("dueAt", replacement.dueAt.rfc3339)
        member("requestedBy", replacement.requestedBy)
    }

    mutating func members(of revocation: Revocation) {
        member("revocationId", "\(revocation.id)")
        member("provider", revocation.provider.rawValue)
        // What a link ticket has left behind is of no identity; then an id that no identity has.
        member("identityId", revocation.identityID?.description ?? "\(revocation.id)")
        member("status", revocation.status.rawValue)
        member("attempts", revocation.attempts)
        member("lastError", revocation.lastError)
        member("createdAt", revocation.createdAt.rfc3339)
        member("finishedAt", revocation.finishedAt?.rfc3339)
    }

    mutating func members(of record: AuditRecord) {
        member("eventId", "\(record.id)")
        member("type", record.type)
        member("actor", record.actor)
        member("actorName", record.actorName)
        member("accountId", record.accountID?.description)
        member("identityId", record.identityID?.description)
        member("sessionId", record.sessionID?.description)
        member("revocationId", record.revocationID?.description)
        member("provider", record.provider)
        member("jti", record.tokenID)
        member("reason", record.reason)
        member("requestId", record.requestID)
        member("network", record.network)
        member("occurrences", record.occurrences)
        member("createdAt", record.createdAt.rfc3339)
    }

    mutating func members(of event: StoredProviderEvent) {
        member("eventId", "\(event.id)")
        member("provider", event.provider)
        member("type", event.type)
        member("status", event.status)
        member("subject", event.subject)
        member("detail", event.detail)
        member("jti", event.tokenID)
        member("occurredAt", event.occurredAt.rfc3339)
        member("receivedAt", event.receivedAt.rfc3339)
        member("processedAt", event.processedAt?.rfc3339)
    }

    mutating func members(of record: OutboxRecord) {
        member("messageId", "\(record.id)")
        member("kind", record.kind)
        member("status", record.status.rawValue)
        member("provider", record.provider)
        member("identityId", record.identityID?.description)
        member("template", record.template)
        member("attempts", record.attempts)
        member("lastError", record.lastError)
        member("createdAt", record.createdAt.rfc3339)
        member("finishedAt", record.finishedAt?.rfc3339)
    }
}
