import Accounts
import Administration
import HTTPServer

extension AdminAPI {
    var accountOperations: [Operation] {
        [
            operation(.get, "/accounts", .read) { request, _ in
                let (filter, range) = try request.query { query in
                    (query.accountFilter(), query.range(AccountCursor.self))
                }
                return .list(
                    try await administration.accounts(filter, after: range.cursor, limit: range.limit)
                ) { $1.members(of: $0) }
            },
            operation(.get, "/accounts/{accountId}", .read) { request, _ in
                let record = try await administration.account(try request.accountID)
                return .json { $0.members(of: record) }
            },
            operation(.get, "/accounts/{accountId}/sessions", .read) { request, _ in
                let id = try request.accountID
                let range = try request.query { $0.range(SessionID.self) }
                return .list(
                    try await administration.sessions(of: id, before: range.cursor, limit: range.limit)
                ) { $1.members(of: $0) }
            },
            operation(.get, "/accounts/{accountId}/audit-events", .read) { request, _ in
                var filter = AuditFilter()
                filter.accountID = try request.accountID
                let range = try request.query { $0.range(AuditCursor.self) }
                return .list(try await administration.auditEvents(filter, before: range.cursor, limit: range.limit))
            },
            operation(.get, "/accounts/{accountId}/export", .manage) { request, administrator in
                let id = try request.accountID
                if request.isHead {
                    _ = try await administration.account(id)
                    return Response(.ok, contentType: "application/json")
                }
                return .streamed(try await administration.export(id, by: administrator))
            },
        ]
    }
}

extension Request {
    var accountID: AccountID {
        get throws(Problem) { try parameter("accountId", as: AccountID.init) }
    }
}

extension Fields {
    fileprivate mutating func accountFilter() -> AccountFilter {
        var filter = AccountFilter()
        filter.email = optionalValue("email", as: EmailAddress.existing)
        filter.externalID = optionalValue("externalId", as: ExternalID.init)
        filter.emailPrefix = optionalValue("emailPrefix", as: EmailPrefix.init)
        filter.name = optionalValue("name", as: DisplayName.init)
        filter.provider = optionalChoice("provider", of: Provider.self)
        filter.subject = optionalValue("subject", as: ProviderSubject.init)
        filter.status = optionalChoice("status", of: Account.Status.self)
        return filter
    }
}
