import Accounts
import Administration
import HTTPServer

extension AdminAPI {
    var recordOperations: [Operation] {
        [
            operation(.get, "/audit-events", .read) { request, _ in
                let (filter, range) = try request.query { query in
                    (query.auditFilter(), query.range(AuditCursor.self))
                }
                return .list(try await administration.auditEvents(filter, before: range.cursor, limit: range.limit))
            },
            operation(.get, "/provider-events", .read) { request, _ in
                let range = try request.query { $0.range(ProviderEventID.self) }
                return .list(try await administration.providerEvents(before: range.cursor, limit: range.limit))
            },
            operation(.get, "/outbox", .read) { request, _ in
                let (status, range) = try request.query { query in
                    (query.optionalChoice("status", of: OutboxStatus.self), query.range(OutboxID.self))
                }
                return .list(try await administration.outbox(status, before: range.cursor, limit: range.limit))
            },
        ]
    }
}
