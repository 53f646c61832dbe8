import Accounts
import Postgres
import Storage
import TestSupport

/// Every list that an administrator can request of this crowd: its first page, or one from the middle.
extension AccountCrowd {
    struct ListQuery: Sendable {
        let name: String
        let statement: SQL
    }

    static let page = 200

    var queries: [ListQuery] {
        let middle = count / 2
        return accountQueries(at: middle) + auditQueries(at: middle) + messageQueries(at: middle)
    }

    /// PostgreSQL's plan of the query, which it also runs.
    func plan(of query: ListQuery) async throws -> String {
        try await database.query("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) \(query.statement)") {
            row throws(PostgresError) in try row.decode(String.self)
        }.joined(separator: "\n")
    }

    /// The lines of a plan that read a table from end to end. The months of the audit trail that are still to come have
    /// no page to read.
    static func scans(_ plan: String) -> [Substring] {
        plan.split(separator: "\n").filter { $0.contains("Seq Scan") && !$0.contains("(cost=0.00..0.00 ") }
    }

    private func accountQueries(at middle: Int) -> [ListQuery] {
        let subject = ProviderSubject("subject-\(middle)")
        let filters: KeyValuePairs<String, (inout AccountFilter) -> Void> = [
            "all": { _ in }, "status=active": { $0.status = .active }, "status=disabled": { $0.status = .disabled },
            "provider": { $0.provider = .google },
            // No account: the disabled ones are all Apple's.
            "provider, status=disabled": { ($0.provider, $0.status) = (.google, .disabled) },
            "name": { $0.name = DisplayName("kIM 77") }, "name of nobody": { $0.name = DisplayName("nobody") },
            "name, provider, status": { ($0.name, $0.provider, $0.status) = (DisplayName("kim 7"), .apple, .active) },
            "email": { $0.email = EmailAddress("user\(middle + 1)@example.com") },
            "identityEmail": { $0.identityEmail = EmailAddress("relay\(middle + 1)@example.com") },
            "identityEmail of nobody": { $0.identityEmail = EmailAddress("nobody@example.com") },
            "email, name": { ($0.email, $0.name) = (EmailAddress("user1@example.com"), DisplayName("kim 1")) },
            "emailPrefix of all": { $0.emailPrefix = EmailPrefix("user") },
            "emailPrefix": { $0.emailPrefix = EmailPrefix("user12") },
            "emailPrefix, status=disabled": { ($0.emailPrefix, $0.status) = (EmailPrefix("user"), .disabled) },
            "emailPrefix, name of nobody": { ($0.emailPrefix, $0.name) = (EmailPrefix("user"), DisplayName("nobody")) },
            "emailPrefix, provider": { ($0.emailPrefix, $0.provider) = (EmailPrefix("user1"), .google) },
            "subject": { $0.subject = subject }, "subject, provider": { ($0.subject, $0.provider) = (subject, .apple) },
        ]
        let cursor = AccountCursor(id: id(middle), email: EmailAddress("user\(middle + 1)@example.com"))
        let positions: [(String, AccountCursor?)] = [("", nil), (", middle", cursor)]
        let lists = filters.flatMap { name, change -> [ListQuery] in
            var filter = AccountFilter()
            change(&filter)
            return positions.map { position, cursor in
                ListQuery(
                    name: "accounts: \(name)\(position)",
                    statement: AccountSearch.statement(filter, after: cursor, limit: Self.page))
            }
        }
        let page = AccountSearch.statement((0..<Self.page).map { id(middle + $0 * 7) })
        return lists + [ListQuery(name: "accounts of a page", statement: page)]
    }

    private func auditQueries(at middle: Int) -> [ListQuery] {
        let kinds: [AuditEvent.Kind?] = [nil, .accountDisabled, .signedIn, .refreshReused]
        let accounts: [AccountID?] = [nil, id(middle / 100 * 100)]
        let times: [Timestamp?] = [nil, time(middle / 2)]
        let cursors: [AuditCursor?] = [nil, AuditCursor(createdAt: time(middle), id: id(middle))]
        var queries: [ListQuery] = []
        for kind in kinds {
            for account in accounts {
                for time in times {
                    for cursor in cursors {
                        var filter = AuditFilter()
                        (filter.kind, filter.accountID, filter.since) = (kind, account, time)
                        let parts = [
                            kind?.rawValue, account.map { _ in "account" }, time.map { _ in "since" },
                            cursor.map { _ in "middle" },
                        ].compactMap(\.self)
                        queries.append(
                            ListQuery(
                                name: "audit events: " + parts.joined(separator: ", "),
                                statement: AuditTrail.statement(filter, before: cursor, limit: Self.page)))
                    }
                }
            }
        }
        return queries + searches(at: middle, cursors)
    }

    /// By what support is given, alone and beside what few of the rows have.
    private func searches(at middle: Int, _ cursors: [AuditCursor?]) -> [ListQuery] {
        let searches: KeyValuePairs<String, (inout AuditFilter) -> Void> = [
            "request": { $0.requestID = "request-\(middle)" }, "unknown request": { $0.requestID = "request-x" },
            "identity": { $0.identityID = id(middle) }, "network": { $0.network = "10.0.7.0/24" },
            "network of nobody": { $0.network = "10.9.9.0/24" }, "name": { $0.actor = .name("kim 100") },
            "administrators": { $0.actor = .kind(.administrator) }, "people": { $0.actor = .kind(.person) },
            "operators": { $0.actor = .kind(.operator) },
            "network, type": { ($0.network, $0.kind) = ("10.0.7.0/24", .accountDisabled) },
            "people, type": { ($0.actor, $0.kind) = (.kind(.person), .accountDisabled) },
            "operators, until": { ($0.actor, $0.until) = (.kind(.operator), time(middle)) },
            "people, since, until": {
                ($0.actor, $0.since, $0.until) = (.kind(.person), time(middle / 2), time(middle))
            },
        ]
        return searches.flatMap { name, set in
            cursors.map { cursor in
                var filter = AuditFilter()
                set(&filter)
                return ListQuery(
                    name: "audit events: \(name)\(cursor == nil ? "" : ", middle")",
                    statement: AuditTrail.statement(filter, before: cursor, limit: Self.page))
            }
        }
    }

    private func messageQueries(at middle: Int) -> [ListQuery] {
        [nil, middle].flatMap { position in
            let name = position == nil ? "" : ", middle"
            return [OutboxStatus?.none, .pending, .done, .failed].flatMap { status in
                let word = status?.rawValue ?? "all"
                return [
                    ListQuery(
                        name: "outbox: \(word)\(name)",
                        statement: OutboxSearch.statement(status: status, before: position.map(id), limit: Self.page)),
                    ListQuery(
                        name: "revocations: \(word)\(name)",
                        statement: RevocationRecords.statement(
                            status: status, before: position.map(id), limit: Self.page)),
                ]
            } + [
                ListQuery(
                    name: "sessions of an account\(name)",
                    statement: SessionStore.statement(
                        of: id(middle), before: position.map(id), limit: Self.page, by: .at(time(middle)))),
                ListQuery(
                    name: "provider events\(name)",
                    statement: ProviderEventRecords.statement(before: position.map(id), limit: Self.page)),
            ]
        }
    }
}
