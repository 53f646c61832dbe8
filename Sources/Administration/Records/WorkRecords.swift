package import Accounts

// What workers do at providers and mail servers.

extension Revocation: AdminRecord {
    package static let fields: [RecordField<Revocation>] = [
        .id("revocationId", "Revocation") { $0.id },
        RecordField("provider", "Provider") { .provider($0.provider) },
        // What a link ticket has left behind is of no identity; then an id that no identity has.
        .code("identityId", "Identity") { $0.identityID?.description ?? "\($0.id)" },
        .status(bad: OutboxStatus.failed.rawValue) { $0.status.rawValue },
        .number("attempts", "Attempts") { $0.attempts },
        .code("lastError", "Last error") { $0.lastError },
        .time("createdAt", "Requested") { $0.createdAt },
        .time("finishedAt", "Finished") { $0.finishedAt },
    ]
}

extension OutboxRecord: AdminRecord {
    package static let fields: [RecordField<OutboxRecord>] = [
        .id("messageId", "Effect") { $0.id },
        .text("kind", "Kind") { $0.kind },
        .status(bad: OutboxStatus.failed.rawValue) { $0.status.rawValue },
        .text("provider", "Provider") { $0.provider },
        .id("identityId", "Identity") { $0.identityID },
        .text("template", "Template") { $0.template },
        .number("attempts", "Attempts") { $0.attempts },
        .code("lastError", "Last error") { $0.lastError },
        .time("createdAt", "Since") { $0.createdAt },
        .time("finishedAt", "Finished") { $0.finishedAt },
    ]
}

extension StoredProviderEvent: AdminRecord {
    package static let fields: [RecordField<StoredProviderEvent>] = [
        .id("eventId", "Event") { $0.id },
        .text("provider", "Provider") { $0.provider },
        .text("type", "Type") { $0.type },
        .status { $0.status },
        .code("subject", "Subject") { $0.subject },
        .text("detail", "Detail") { $0.detail },
        .code("jti", "Token") { $0.tokenID },
        .time("occurredAt", "Happened") { $0.occurredAt },
        .time("receivedAt", "Received") { $0.receivedAt },
        .time("processedAt", "Processed") { $0.processedAt },
    ]
}
