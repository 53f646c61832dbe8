import Accounts
import Administration
import HTTPAPI
import HTTPServer
import Primitives

/// The audit trail: a search, and the comparison of what it shows with the seals.
extension ConsoleAPI {
    var auditRoutes: [Route] {
        [
            page(ConsolePath.audit, .read) { request, visitor in try await auditPage(request, visitor) },
            page(ConsolePath.sheet, .read) { request, visitor in
                guard case .read(let search) = AuditSearchForm.read(request) else { throw Problem(.invalidRequest) }
                if request.isHead {
                    return download(Response(.ok, contentType: Self.sheetType), name: Self.sheetName)
                }
                let sheet = try await administration.trailSheet(search.filter, by: visitor.administrator)
                return download(
                    .streamed(contentType: Self.sheetType) { body in try await sheet.write(body.write) },
                    name: Self.sheetName)
            },
        ]
    }

    private static let sheetName = "audit.csv"
    private static let sheetType = "text/csv; charset=utf-8"

    private func auditPage(_ request: Request, _ visitor: ConsoleVisitor) async throws -> Response {
        let search: AuditSearchForm
        switch AuditSearchForm.read(request) {
        case .read(let form): search = form
        case .faulty(let form, let fault):
            let page = ConsolePage("Audit trail", notice: .error(fault.sentence), [.form(form.form(with: fault))])
            return try show(page, .badRequest, in: visitor).refusing(Problem(.invalidRequest))
        }
        let events = try await administration.auditEvents(
            search.filter, before: try request.cursor(AuditCursor.self), limit: Self.pageSize)
        var page = ConsolePage("Audit trail")
        if try request.parameterValue("verify") != nil {
            page.notice = try await verification(of: events.items)
        }
        let verified = search.parameters + [("cursor", try request.parameterValue("cursor")), ("verify", "1")]
        page.blocks = [
            .form(search.form()),
            .paragraph(
                .row([
                    .link("CSV", to: consolePath(ConsolePath.sheet, search.parameters)), .text("·"),
                    .link("Compare what is shown with its seals", to: consolePath(ConsolePath.audit, verified)),
                ])),
            .table(
                try await table(
                    of: events.items, caption: "Audit trail",
                    next: events.link(ConsolePath.audit, search.parameters))),
        ]
        return try show(page, in: visitor)
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
        return .done(
            """
            All rows from the first to the last that is shown, \(report.rowCount) under \(report.sealCount) seals, are as \
            they were sealed.
            """)
    }

    /// Rows of the trail with the accounts that they are about.
    func table(of events: [AuditRecord], caption: String, next: String?) async throws -> ConsoleTable {
        Self.table(
            of: events, caption: caption, next: next,
            accounts: try await administration.addresses(of: Array(Set(events.compactMap(\.accountID)))))
    }

    /// - Parameter accounts: their addresses; `nil` where all rows are about one.
    static func table(
        of events: [AuditRecord], caption: String, next: String?, accounts: [AccountID: EmailAddress]?
    ) -> ConsoleTable {
        ConsoleTable(
            caption: caption,
            columns: ["Time", "What", "By"] + (accounts == nil ? [] : ["Account"]) + ["Reason", "About"],
            rows: events.map { event in
                let account: [ConsoleCell] =
                    accounts.map { addresses in
                        [
                            event.accountID.map { id in
                                .link(name(of: id, addresses[id]), to: path(of: id), title: "\(id)")
                            } ?? .none
                        ]
                    } ?? []
                return [
                    .time(event.createdAt), .text(sentence(on: event)),
                    .text(actor(of: event)),
                ] + account + [.text(event.reason), about(event)]
            }, whenEmpty: "Nothing was recorded.", next: next, isDense: true)
    }

    /// An administrator's name says who they are; that of another kind, which the row is about, or
    /// which an operator states.
    static func actor(of event: AuditRecord) -> String {
        guard let name = event.actorName else { return event.actor }
        return event.actor == AuditEvent.Actor.administrator.rawValue ? name : "\(event.actor) \(name)"
    }

    /// `identity_linked` as `Identity linked`, with how often.
    private static func sentence(on event: AuditRecord) -> String {
        let words = event.type.replacing("_", with: " ")
        let sentence = words.prefix(1).uppercased() + words.dropFirst()
        return event.occurrences > 1 ? "\(sentence), \(event.occurrences) times" : sentence
    }

    /// Words that lead to what has the ids.
    private static func about(_ event: AuditRecord) -> ConsoleCell {
        func trail(_ name: String, _ value: String?, _ label: String? = nil) -> ConsoleCell? {
            value.map { .link(label ?? $0, to: consolePath(ConsolePath.audit, [(name, $0)]), title: $0) }
        }
        let cells = [
            event.provider.map { ConsoleCell.text($0) },
            trail("network", event.network?.text), trail("request", event.requestID, "request"),
            trail("identity", event.identityID?.description, "identity"),
            event.sessionID.map { id -> ConsoleCell in
                // The search knows no session that has ended, nor that of an account that is gone.
                let page = event.accountID.map(path(of:)) ?? consolePath(ConsolePath.accounts, [("q", "\(id)")])
                return .link("session", to: page, title: "\(id)")
            },
            event.revocationID.map {
                .link("revocation", to: consolePath(ConsolePath.revocations, [("id", "\($0)")]), title: "\($0)")
            },
            event.tokenID.map { .row([.text("token"), .code($0)]) },
        ]
        return .row(cells.compactMap(\.self))
    }
}

/// The search of the audit trail, as its form has it.
private struct AuditSearchForm {
    private(set) var filter = AuditFilter()
    /// As they were typed.
    private var typed: [String: String] = [:]

    enum Reading {
        case read(AuditSearchForm)
        case faulty(AuditSearchForm, ConsoleFault)
    }

    static func read(_ request: Request) -> Reading {
        var (form, fault) = (AuditSearchForm(), ConsoleFault?.none)
        for name in AuditFilter.parameterNames {
            do {
                // Links of before have another name for it.
                let former = name == "accountId" ? try request.parameterValue("account") : nil
                guard let text = try request.parameterValue(name) ?? former else { continue }
                form.typed[name] = text
                let isTime = ["since", "until"].contains(name)
                // Other systems print UUIDs in capitals.
                let isID = ["accountId", "identity"].contains(name)
                let value = isTime ? Timestamp(typed: text)?.rfc3339 ?? "" : isID ? text.lowercased() : text
                guard !form.filter.set(name, to: value) else { continue }
                let sentence =
                    isTime ? "write a time as \(Timestamp.typedForms)" : "this is nothing that can be searched for"
                fault = fault ?? ConsoleFault(sentence: "\(label(of: name)): \(sentence).", field: name)
            } catch {
                let sentence = "\(label(of: name)): this can't be searched for, it is no text."
                fault = fault ?? ConsoleFault(sentence: sentence, field: name)
            }
        }
        if let since = form.filter.since, let until = form.filter.until, since >= until {
            let sentence = "Until has to be later than Since: nothing lies between them."
            fault = fault ?? ConsoleFault(sentence: sentence, field: "until")
        }
        return fault.map { .faulty(form, $0) } ?? .read(form)
    }

    var parameters: [(name: String, value: String?)] { AuditFilter.parameterNames.map { ($0, typed[$0]) } }

    private static func label(of name: String) -> String {
        switch name {
        case "actor": "By"
        case "type": "What"
        case "accountId": "Account id"
        case "identity": "Identity id"
        case "network": "Network"
        case "request": "Request"
        case "since": "Since"
        default: "Until"
        }
    }

    private static func hint(of name: String) -> String? {
        switch name {
        case "actor": "A name, or person, operator, administrator, provider, service."
        case "network": "An address, or a network as shown."
        case "since": "As \(Timestamp.typedForms)."
        case "until": "Likewise; before it."
        default: nil
        }
    }

    func form(with fault: ConsoleFault? = nil) -> ConsoleForm {
        let kinds = AuditEvent.Kind.allCases.map(\.rawValue).sorted()
        let fields = AuditFilter.parameterNames.map { name in
            ConsoleForm.Field(
                name: name, label: Self.label(of: name),
                kind: name == "type"
                    ? .choice([("", "Everything")] + kinds.map { ($0, $0) }) : .text(maximumBytes: 128),
                value: typed[name] ?? "", hint: Self.hint(of: name))
        }
        return ConsoleForm(
            action: ConsolePath.audit, csrf: nil, isPost: false, fields: fields.marked(by: fault), button: "Show")
    }
}
