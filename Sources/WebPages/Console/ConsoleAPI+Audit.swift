import Accounts
import Administration
import HTTPAPI
import HTTPServer
import Primitives

/// The audit trail: a search, and the comparison of what it shows with the seals.
extension ConsoleAPI {
    var auditRoutes: [Route] {
        [
            page("/console/audit", .read) { request, visitor in
                let search = try AuditSearchFields(request)
                let events = try await administration.auditEvents(
                    search.filter, before: try request.cursor(AuditCursor.self), limit: Self.pageSize)
                var page = ConsolePage("Audit trail")
                if try request.parameterValue("verify") != nil {
                    page.notice = try await verification(of: events.items)
                }
                let cursor = try request.parameterValue("cursor")
                page.blocks = [
                    .form(search.form),
                    .paragraph(
                        .link(
                            "Compare what is shown with its seals",
                            to: consolePath(
                                "/console/audit", search.parameters + [("cursor", cursor), ("verify", "1")]))),
                    .table(
                        Self.table(
                            of: events.items, caption: "Audit trail", withAccount: true,
                            next: events.next.map {
                                consolePath("/console/audit", search.parameters + [("cursor", $0.encoded)])
                            })),
                ]
                return try show(page, in: visitor)
            }
        ]
    }

    private func verification(of shown: [AuditRecord]) async throws -> ConsoleNotice {
        let times = shown.map(\.createdAt)
        guard let first = times.min(), let last = times.max() else { return .done("Nothing is shown.") }
        let verified = try await comparisons.admit { try await inspection.verifyTrail(in: first...last) }
        guard let report = verified else {
            return .error("Another comparison is under way. Try again when it has ended.")
        }
        if report.isTooLong {
            return .error(
                "There are too many rows between those that are shown. Run countersign audit verify, which reads all.")
        }
        guard report.findingCount == 0 else {
            return .error(
                """
                The trail deviates from its seals here in \(report.findingCount) places. Run countersign audit verify, \
                which names them.
                """)
        }
        let unsealed = report.unsealedSince.map { since in times.count { $0 >= since } } ?? 0
        guard unsealed == 0 else {
            return .error("\(unsealed) of the rows that are shown have no seal yet, and were not compared.")
        }
        return .done("\(report.rowCount) rows under \(report.sealCount) seals are as they were sealed.")
    }

    static func table(
        of events: [AuditRecord], caption: String, withAccount: Bool, next: String?
    ) -> ConsoleTable {
        ConsoleTable(
            caption: caption,
            columns: ["Time", "What", "By"] + (withAccount ? ["Account"] : []) + ["Reason", "About"],
            rows: events.map { event in
                let account: [ConsoleCell] =
                    withAccount ? [event.accountID.map { .link("\($0)", to: path(of: $0)) } ?? .none] : []
                return [
                    .time(event.createdAt),
                    .lines([.text(sentence(on: event)), .code(event.type)]),
                    .text([event.actor, event.actorName].compactMap(\.self).joined(separator: " ")),
                ] + account + [.text(event.reason), .lines(about(event))]
            }, whenEmpty: "Nothing was recorded.", next: next)
    }

    /// `identity_linked` as `Identity linked`, with how often.
    private static func sentence(on event: AuditRecord) -> String {
        let words = event.type.replacing("_", with: " ")
        let sentence = words.prefix(1).uppercased() + words.dropFirst()
        return event.occurrences > 1 ? "\(sentence), \(event.occurrences) times" : sentence
    }

    private static func about(_ event: AuditRecord) -> [ConsoleCell] {
        let ids: [(String, String?)] = [
            ("provider", event.provider), ("identity", event.identityID.map { "\($0)" }),
            ("session", event.sessionID.map { "\($0)" }), ("revocation", event.revocationID.map { "\($0)" }),
            ("token", event.tokenID), ("network", event.network), ("request", event.requestID),
        ]
        return ids.compactMap { label, value in value.map { .row([.text(label), .code($0)]) } }
    }
}

/// The search of the audit trail, as its form has it.
private struct AuditSearchFields {
    private let account: String?
    private let type: String?
    private let since: String?
    let filter: AuditFilter

    init(_ request: Request) throws(Problem) {
        func given(_ name: String) throws(Problem) -> String? {
            try request.parameterValue(name).flatMap { $0.isEmpty ? nil : $0 }
        }
        account = try given("account")
        type = try given("type")
        since = try given("since")
        var filter = AuditFilter()
        filter.accountID = try Self.value(account, AccountID.init)
        filter.kind = try Self.value(type, AuditEvent.Kind.init)
        filter.since = try Self.value(since) { Timestamp(rfc3339: $0) ?? Timestamp(rfc3339: $0 + "T00:00:00Z") }
        self.filter = filter
    }

    private static func value<Value>(_ text: String?, _ parse: (String) -> Value?) throws(Problem) -> Value? {
        guard let text else { return nil }
        guard let value = parse(text) else { throw Problem(.invalidRequest) }
        return value
    }

    var parameters: [(name: String, value: String?)] { [("account", account), ("type", type), ("since", since)] }

    var form: ConsoleForm {
        let kinds = AuditEvent.Kind.allCases.map(\.rawValue).sorted()
        return ConsoleForm(
            action: "/console/audit", csrf: nil, isPost: false,
            fields: [
                ConsoleForm.Field(
                    name: "account", label: "Account id", kind: .text(maximumBytes: 36), value: account ?? ""),
                ConsoleForm.Field(
                    name: "type", label: "What", kind: .choice([("", "Everything")] + kinds.map { ($0, $0) }),
                    value: type ?? ""),
                ConsoleForm.Field(
                    name: "since", label: "Since", kind: .text(maximumBytes: 40), value: since ?? "",
                    hint: "A day as 2026-11-23, or a time as 2026-11-23T08:00:00Z."),
            ], button: "Show")
    }
}
