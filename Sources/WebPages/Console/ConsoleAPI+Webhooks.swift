import Accounts
import Administration
import HTTPAPI
import HTTPServer
import Webhooks

/// Where events are pushed to, and what was not taken.
extension ConsoleAPI {
    var webhookRoutes: [Route] {
        [
            page(ConsolePath.webhooks, .read) { request, visitor in
                let webhooks = try await administration.webhooks()
                // Each list goes on by itself.
                let followed = try request.parameterValue("failures")
                let cursor = try request.cursor(AccountEventID.self)
                var parts: [ConsoleBlock] = [
                    .paragraph(.text("Endpoints are set up in the configuration: webhooks.endpoints.")),
                    .table(
                        ConsoleTable(
                            of: webhooks, caption: "Webhooks",
                            fields: [
                                "name", "status", "reason", "behindSeconds", "failures", "lastSuccessAt", "lastError",
                            ],
                            shown: [
                                "name": { .lines([.text($0.endpoint.name), .code($0.endpoint.shownURL)]) },
                                "behindSeconds": { Self.behind($0) },
                            ],
                            acts: visitor.buttons(for:))),
                ]
                for webhook in webhooks where webhook.record.failures > 0 {
                    let name = webhook.endpoint.name
                    let failures = try await administration.webhookFailures(
                        name, before: name == followed ? cursor : nil, limit: Self.pageSize)
                    parts += [
                        .heading("Given up by \(name)"),
                        .table(
                            ConsoleTable(
                                caption: "Given up by \(name)",
                                columns: ["Event", "Type", "Account", "Attempts", "Last error", "Given up"],
                                rows: failures.items.map { failure in
                                    [
                                        .code("\(failure.event.id)"), .code(failure.event.type),
                                        .code("\(failure.event.accountID)"), .number(failure.attempts),
                                        .code(failure.lastError), .time(failure.givenUpAt),
                                    ]
                                },
                                next: failures.link(ConsolePath.webhooks, [("failures", name)]))),
                    ]
                }
                return try show(
                    ConsolePage("Webhooks", notice: try Act.notice(for: request, visitor), parts), in: visitor)
            }
        ]
    }

    /// How far behind, and what of it waits for another try.
    private static func behind(_ webhook: WebhookSummary) -> ConsoleCell {
        let (parked, behind) = (webhook.record.parkedAccounts, ConsoleCell.number(Int(clamping: webhook.behindSeconds)))
        guard parked > 0 else { return behind }
        return .lines([
            behind, .text("\(parked) \(parked == 1 ? "account waits" : "accounts wait")"),
            .row([.text("next try"), .time(webhook.record.nextAttemptAt)]),
        ])
    }
}
