import Accounts
import HTTPAPI
import HTTPServer
import SignIn

/// What workers have to do at providers and mail servers: revocations, the outbox, and the events of providers.
extension ConsoleAPI {
    var workRoutes: [Route] {
        [
            page("/console/revocations", .read) { request, visitor in
                try show(try await revocations(request, visitor), in: visitor)
            },
            page("/console/provider-events", .read) { request, visitor in
                let events = try await administration.providerEvents(
                    before: try request.cursor(ProviderEventID.self), limit: Self.pageSize)
                return try show(try Self.events(events, request, visitor), in: visitor)
            },
        ]
    }

    /// Those that were given up first: there is something to do about them.
    private func revocations(_ request: Request, _ visitor: ConsoleVisitor) async throws -> ConsolePage {
        let cursor = try request.cursor(RevocationID.self)
        let all = try await administration.revocations(nil, before: cursor, limit: Self.pageSize)
        let next = all.next.map { consolePath("/console/revocations", [("cursor", $0.encoded)]) }
        var page = ConsolePage("Revocations", notice: try ConsoleAct.notice(for: request))
        if cursor == nil {
            let failed = try await administration.revocations(.failed, before: nil, limit: Self.pageSize)
            let waiting = try await administration.outbox(.pending, before: nil, limit: Self.pageSize)
            let givenUp = try await administration.outbox(.failed, before: nil, limit: Self.pageSize)
            page.blocks = [
                .heading("Given up"),
                .table(Self.table(of: failed.items, caption: "Revocations that were given up", visitor)),
                .heading("Outbox: given up"),
                .table(Self.table(of: givenUp.items, caption: "Effects that were given up")),
                .heading("Outbox: waiting"),
                .table(Self.table(of: waiting.items, caption: "Effects that wait", whenEmpty: "Nothing waits.")),
            ]
        }
        var table = Self.table(of: all.items, caption: "All revocations", visitor)
        table.next = next
        page.blocks += [.heading("All revocations"), .table(table)]
        return page
    }

    private static func table(
        of revocations: [Revocation], caption: String, _ visitor: ConsoleVisitor
    ) -> ConsoleTable {
        ConsoleTable(
            caption: caption,
            columns: ["Revocation", "Provider", "Identity", "Status", "Attempts", "Last error", "Requested", "Acts"],
            rows: revocations.map { revocation in
                [
                    .code("\(revocation.id)"), .text(revocation.provider.brand),
                    revocation.identityID.map { .link("\($0)", to: "/console/accounts?q=\($0)") } ?? .none,
                    .badge(revocation.status.rawValue, revocation.status == .failed ? .bad : .plain),
                    .number(revocation.attempts), .code(revocation.lastError), .time(revocation.createdAt),
                    .row(ConsoleAct.buttons(for: revocation, visitor)),
                ]
            })
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
            "Provider events", notice: try ConsoleAct.notice(for: request),
            [
                .table(
                    ConsoleTable(
                        caption: "Events of providers",
                        columns: ["Event", "Provider", "Type", "Subject", "Status", "Happened", "Received", "Acts"],
                        rows: events.items.map { event in
                            [
                                .code("\(event.id)"), .text(event.provider),
                                .lines([.text(event.type), .text(event.detail)]),
                                event.subject.map {
                                    .link($0, to: consolePath("/console/accounts", [("q", "\(event.provider):\($0)")]))
                                } ?? .none,
                                .badge(event.status), .time(event.occurredAt), .time(event.receivedAt),
                                .row(ConsoleAct.buttons(for: event, visitor)),
                            ]
                        },
                        next: events.next.map { consolePath("/console/provider-events", [("cursor", $0.encoded)]) }))
            ])
    }
}
