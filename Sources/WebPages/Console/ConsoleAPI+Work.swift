import Accounts
import Administration
import HTTPAPI
import HTTPServer

/// What workers have to do at providers and mail servers: revocations, the outbox, and the events of providers.
extension ConsoleAPI {
    var workRoutes: [Route] {
        [
            page(ConsolePath.revocations, .read) { request, visitor in
                try show(try await revocations(request, visitor), in: visitor)
            },
            page(ConsolePath.providerEvents, .read) { request, visitor in
                let events = try await administration.providerEvents(
                    before: try request.cursor(ProviderEventID.self), limit: Self.pageSize)
                return try show(try Self.events(events, request, visitor), in: visitor)
            },
        ]
    }

    /// Those that were given up first: there is something to do about them. `status` and `outbox` name one list, which
    /// then goes on; `id` names one revocation.
    private func revocations(_ request: Request, _ visitor: ConsoleVisitor) async throws -> ConsolePage {
        var page = ConsolePage("Revocations", notice: try Act.notice(for: request, visitor))
        if let status = try request.choice("outbox", of: OutboxStatus.self) {
            page.blocks = try await effects(status, before: try request.cursor(OutboxID.self))
            return page
        }
        if let text = try request.parameterValue("id") {
            guard let id = RevocationID(text) else { throw Problem(.invalidRequest) }
            let revocation = try await administration.revocation(id)
            page.blocks = [.table(Self.table(of: [revocation], caption: "The revocation", visitor))]
            if let identityID = revocation.identityID { page.blocks += try await trail(of: identityID) }
            return page
        }
        let cursor = try request.cursor(RevocationID.self)
        let status = try request.choice("status", of: OutboxStatus.self)
        if cursor == nil, status == nil {
            page.blocks = try await revocations(.failed, before: nil, visitor)
            page.blocks += try await effects(.failed, before: nil)
            page.blocks += try await effects(.pending, before: nil)
        }
        page.blocks += try await revocations(status, before: cursor, visitor)
        return page
    }

    private func revocations(
        _ status: OutboxStatus?, before cursor: RevocationID?, _ visitor: ConsoleVisitor
    ) async throws -> [ConsoleBlock] {
        let found = try await administration.revocations(status, before: cursor, limit: Self.pageSize)
        let title =
            status == .failed
            ? "Given up" : status == nil ? "All revocations" : "Revocations: \(status?.rawValue ?? "")"
        var table = Self.table(of: found.items, caption: title, visitor)
        table.next = found.link(ConsolePath.revocations, [("status", status?.rawValue)])
        return [.heading(title), .table(table)]
    }

    /// What was recorded of the identity: who has asked for its revocation, and why.
    private func trail(of id: IdentityID) async throws -> [ConsoleBlock] {
        var filter = AuditFilter()
        filter.identityID = id
        let events = try await administration.auditEvents(filter, before: nil, limit: Self.pageSize)
        let next = events.link(ConsolePath.audit, [("identity", "\(id)")])
        return [
            .heading("Audit trail"),
            .table(try await table(of: events.items, caption: "What has happened to the identity", next: next)),
        ]
    }

    private func effects(_ status: OutboxStatus, before cursor: OutboxID?) async throws -> [ConsoleBlock] {
        let found = try await administration.outbox(status, before: cursor, limit: Self.pageSize)
        let title = "Outbox: \(status == .failed ? "given up" : status == .pending ? "waiting" : status.rawValue)"
        var table = Self.table(
            of: found.items, caption: title, whenEmpty: status == .pending ? "Nothing waits." : "There are none.")
        table.next = found.link(ConsolePath.revocations, [("outbox", status.rawValue)])
        return [.heading(title), .table(table)]
    }

    private static func table(
        of revocations: [Revocation], caption: String, _ visitor: ConsoleVisitor
    ) -> ConsoleTable {
        ConsoleTable(
            of: revocations, caption: caption,
            fields: ["revocationId", "provider", "identityId", "status", "attempts", "lastError", "createdAt"],
            shown: [
                // It may be unlinked, and its account deleted: the trail knows either.
                "identityId": {
                    $0.identityID.map { .link("\($0)", to: consolePath(ConsolePath.audit, [("identity", "\($0)")])) }
                        ?? .none
                }
            ], acts: visitor.buttons(for:))
    }

    static func table(
        of records: [OutboxRecord], caption: String, whenEmpty: String = "There are none."
    ) -> ConsoleTable {
        ConsoleTable(
            caption: caption, columns: ["Effect", "Status", "Attempts", "Last error", "Since"],
            rows: records.map { record in
                [
                    .lines([
                        .text(
                            [record.kind, record.template ?? record.provider].compactMap(\.self).joined(separator: ": ")
                        ),
                        .code("\(record.id)"),
                    ]),
                    .badge(record.status.rawValue, record.status == .failed ? .bad : .plain), .number(record.attempts),
                    .code(record.lastError), .time(record.createdAt),
                ]
            }, whenEmpty: whenEmpty)
    }

    private static func events(
        _ events: Page<StoredProviderEvent, ProviderEventID>, _ request: Request, _ visitor: ConsoleVisitor
    ) throws -> ConsolePage {
        ConsolePage(
            "Provider events", notice: try Act.notice(for: request, visitor),
            [
                .table(
                    ConsoleTable(
                        of: events.items, caption: "Events of providers",
                        fields: ["eventId", "provider", "type", "subject", "status", "occurredAt", "receivedAt"],
                        next: events.link(ConsolePath.providerEvents),
                        shown: [
                            "type": { .lines([.text($0.type), .text($0.detail)]) },
                            "subject": { event in
                                event.subject.map {
                                    .link($0, to: consolePath(ConsolePath.accounts, [("q", "\(event.provider):\($0)")]))
                                } ?? .none
                            },
                        ], acts: visitor.buttons(for:)))
            ])
    }
}
