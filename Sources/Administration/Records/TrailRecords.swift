package import Accounts

extension AuditRecord: AdminRecord {
    package static let fields: [RecordField<AuditRecord>] = [
        .id("eventId", "Event") { $0.id },
        .text("type", "What") { $0.type },
        .text("actor", "By") { $0.actor },
        .text("actorName", "Name") { $0.actorName },
        .id("accountId", "Account") { $0.accountID },
        .id("identityId", "Identity") { $0.identityID },
        .id("sessionId", "Session") { $0.sessionID },
        .id("revocationId", "Revocation") { $0.revocationID },
        .text("provider", "Provider") { $0.provider },
        .code("jti", "Token") { $0.tokenID },
        .text("reason", "Reason") { $0.reason },
        .code("requestId", "Request") { $0.requestID },
        .code("network", "Network") { $0.network?.text },
        .number("occurrences", "Times") { $0.occurrences },
        .time("createdAt", "Time") { $0.createdAt },
    ]
}
