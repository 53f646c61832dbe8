import Accounts
import Administration
import HTTPAPI
import HTTPServer

/// The people: a search by whatever support is given, and an account's whole page.
extension ConsoleAPI {
    var accountRoutes: [Route] {
        [
            page(ConsolePath.accounts, .read) { request, visitor in
                let typed = SearchText.read("q", of: request.queryText ?? "", maximumBytes: Self.maximumQueryBytes)
                guard let query = typed else {
                    let page = ConsolePage(
                        "Accounts", notice: .error("This can't be searched for: it is too long, or no text."),
                        [.form(Self.search(for: "", isInvalid: true))])
                    return try show(page, .badRequest, in: visitor).refusing(Problem(.invalidRequest))
                }
                let found = try await administration.people(
                    matching: query, after: try request.cursor(AccountCursor.self), limit: Self.pageSize)
                var page = Self.list(found, query: query)
                page.blocks += try await records(of: query, isOnlyResult: found.items.isEmpty)
                return try show(page, in: visitor)
            },
            page(ConsolePath.accounts + "/{accountId}", .read) { request, visitor in
                let id = try request.parameter("accountId", as: AccountID.init)
                return try await accountPage(id, request, visitor)
            },
        ]
    }

    private static let maximumQueryBytes = 1024

    private static func search(for query: String, isInvalid: Bool = false) -> ConsoleForm {
        ConsoleForm(
            action: ConsolePath.accounts, csrf: nil, isPost: false,
            fields: [
                ConsoleForm.Field(
                    name: "q", label: "Find accounts", kind: .search, value: query,
                    hint: """
                        An email address or its beginning, a whole name, the id of an account, an identity or a session, \
                        apple: or google: and a subject, the id in the system before, or the reference of an error page.
                        """, isInvalid: isInvalid)
            ], button: "Search")
    }

    private static func list(_ found: Page<AccountRecord, AccountCursor>, query: String) -> ConsolePage {
        let rows = found.items.map { record -> [ConsoleCell] in
            let account = record.account
            return [
                .link(account.email?.text ?? "no address", to: path(of: account.id)),
                .text(account.displayName?.text), badge(account.status),
                .text(account.identities.map(\.key.provider.brand).joined(separator: ", ")), .time(account.createdAt),
                .code("\(account.id)"),
            ]
        }
        var page = ConsolePage(
            "Accounts",
            [
                .form(search(for: query)),
                .table(
                    ConsoleTable(
                        caption: "Accounts", columns: ["Address", "Name", "Status", "Identities", "Since", "Account"],
                        rows: rows, whenEmpty: "There is no such account.",
                        next: found.link(ConsolePath.accounts, [("q", query.isEmpty ? nil : query)]))),
            ])
        if found.items.isEmpty, EmailAddress.existing(query) != nil { page.blocks += hints }
        return page
    }

    /// How else a person is found whose address finds nothing.
    private static let hints: [ConsoleBlock] = [
        .paragraph(
            .text(
                "Each character of an address counts, also a dot or a part after a plus that its mailbox ignores: try its "
                    + "beginning.")),
        .paragraph(
            .text(
                "Who hides their address with Apple has one of Apple's here: try the whole name, or the relay address.")
        ),
    ]

    /// What the trail has of a request, where the text may be the id of one; where nobody was found, also of an account
    /// that is gone, or an identity that no account has.
    ///
    /// - Parameter isOnlyResult: whether nobody was found, so that it is said when there is nothing.
    private func records(of query: String, isOnlyResult: Bool) async throws -> [ConsoleBlock] {
        guard Request.isID(query) else { return [] }
        // Ids of ours are in lower case; one of a request that its client chose may be in capitals.
        let id = AuditEventID.typed(query).map { "\($0)" }
        var conditions: [(name: String, value: String)] = []
        // Before requests, whose ids may be anything.
        if let id, isOnlyResult { conditions += [("accountId", id), ("identity", id)] }
        conditions.append(("request", query))
        if let id, id != query { conditions.append(("request", id)) }
        let found: (condition: (name: String, value: String), events: Page<AuditRecord, AuditCursor>)?
        do throws(AdministrationFailure) {
            found = try await rows(by: conditions)
        } catch {
            // Clients choose the ids of requests, so that one may be of millions. The people found don't depend on it.
            guard !isOnlyResult, error.isTemporary else { throw error }
            return [
                .heading("Request"),
                .paragraph(.text("What was recorded of a request with this id can't be read now.")),
            ]
        }
        guard let (condition, events) = found else {
            // Ours are UUIDs; nearly every word could be that of a proxy.
            guard isOnlyResult, id != nil else { return [] }
            return [
                .heading("Request"),
                .paragraph(
                    .text(
                        """
                        Nothing recorded of a request with this id, nor of an account or an identity. The log of the service \
                        has a line of each request, also of one that failed: look there for this requestId.
                        """)),
            ]
        }
        let noun =
            switch condition.name {
            case "request": "request"
            case "accountId": "account"
            default: "identity"
            }
        let next = events.link(ConsolePath.audit, [(condition.name, condition.value)])
        return [
            .heading(noun.prefix(1).uppercased() + noun.dropFirst()),
            .table(try await table(of: events.items, caption: "What was recorded of the \(noun)", next: next)),
        ]
    }

    /// The latest rows of the trail of the first of these conditions that has any.
    private func rows(
        by conditions: [(name: String, value: String)]
    ) async throws(AdministrationFailure) -> (
        condition: (name: String, value: String), events: Page<AuditRecord, AuditCursor>
    )? {
        for condition in conditions {
            var filter = AuditFilter()
            guard filter.set(condition.name, to: condition.value) else { continue }
            let events = try await administration.auditEvents(filter, before: nil, limit: Self.pageSize)
            if !events.items.isEmpty { return (condition, events) }
        }
        return nil
    }

    static func path(of id: AccountID) -> String { "\(ConsolePath.accounts)/\(id)" }

    /// What an account is called: its address, else its id. Its display name may be anything, also another's address.
    static func name(of id: AccountID, _ address: EmailAddress?) -> String { address?.text ?? "\(id)" }

    private static func badge(_ status: Account.Status) -> ConsoleCell {
        .badge(status.rawValue, status == .active ? .good : .bad)
    }

    // MARK: - An account

    private func accountPage(_ id: AccountID, _ request: Request, _ visitor: ConsoleVisitor) async throws -> Response {
        let story = try await story(of: id, after: try request.cursor(AuditCursor.self))
        guard let record = try await record(id) else {
            // Its trail is what is left of it.
            let page = ConsolePage(
                "No such account", notice: try Act.notice(for: request, visitor),
                [.paragraph(.row([.text("Account"), .code("\(id)")])), .heading("Audit trail")] + story)
            return try show(page, .notFound, in: visitor)
        }
        let account = record.account
        let details = try await administration.details(of: account)
        let before = try request.parameterValue("sessions").map { text throws(Problem) in
            guard let session = SessionID(text) else { throw Problem(.invalidRequest) }
            return session
        }
        let sessions = try await administration.sessions(of: id, before: before, limit: Self.pageSize)
        var page = ConsolePage(Self.name(of: account.id, account.email))
        page.notice = try Act.notice(for: request, visitor)
        page.blocks = [
            .facts(try await facts(of: record)),
            .buttons(visitor.buttons(for: record)),
            .heading("Identities"), .table(Self.identities(of: account, details, visitor)),
            .heading("Sessions"), .table(Self.sessions(sessions, of: id, visitor)),
        ]
        if let oauth = administration.oauth {
            let clients = try await oauth.linkedClients(of: id, by: visitor.administrator.call)
            page.blocks += [.heading("Linked clients"), .table(Self.clients(clients, of: id, visitor))]
        }
        page.blocks += [
            .heading("Mail"),
            .table(Self.table(of: details.mails, caption: "Mail to this person", whenEmpty: "No mail waits.")),
            .heading("Audit trail"),
        ]
        page.blocks += story
        return try show(page, in: visitor)
    }

    private func record(_ id: AccountID) async throws(AdministrationFailure) -> AccountRecord? {
        do {
            return try await administration.account(id)
        } catch {
            guard error == .notFound else { throw error }
            return nil
        }
    }

    /// The latest row of the trail about what was done to an account: it has the reason that was typed.
    private func latest(_ kind: AuditEvent.Kind, of id: AccountID) async throws(AdministrationFailure) -> AuditRecord? {
        var filter = AuditFilter()
        (filter.accountID, filter.kind) = (id, kind)
        return try await administration.auditEvents(filter, before: nil, limit: 1).items.first
    }

    /// Why, by whom and when.
    private static func reason(of event: AuditRecord) -> ConsoleCell {
        .row([.text(event.reason), .text("by \(actor(of: event))"), .time(event.createdAt)])
    }

    private func facts(of record: AccountRecord) async throws(AdministrationFailure) -> [ConsoleFact] {
        let account = record.account
        var facts = [
            ConsoleFact("Account", .code("\(account.id)")),
            ConsoleFact("Status", Self.badge(account.status)),
            ConsoleFact("Address", .text(account.email?.text)),
            ConsoleFact("How well it is known", .text(account.emailProof.map(Self.sentence(on:)))),
            ConsoleFact("Name", .text(account.displayName?.text)),
            ConsoleFact("Password", .text(account.hasPassword ? "yes" : "no")),
            ConsoleFact("Since", .time(account.createdAt)),
        ]
        if let externalID = account.externalID {
            facts.insert(ConsoleFact("Id in the system before", .code(externalID.text)), at: 1)
        }
        if let reason = record.disabledReason {
            let typed =
                reason == "administrator" ? try await latest(.accountDisabled, of: account.id).map(Self.reason) : nil
            facts.insert(ConsoleFact("Disabled because", typed ?? .text(reason)), at: 2)
        }
        if let taken = account.emailTakenAt {
            facts.append(ConsoleFact("Address taken by a reader of the mailbox", .time(taken)))
        }
        return facts + (try await pendingReplacement(of: record))
    }

    /// The address that an account is to have, from when on, and who asked for it why; empty where none is pending.
    func pendingReplacement(of record: AccountRecord) async throws(AdministrationFailure) -> [ConsoleFact] {
        guard let replacement = record.emailReplacement else { return [] }
        var lines: [ConsoleCell] = [
            .text(replacement.email.text), .row([.text("in effect"), .time(replacement.dueAt)]),
        ]
        if let request = try await latest(.emailReplacementRequested, of: record.account.id) {
            lines.append(Self.reason(of: request))
        }
        return [ConsoleFact("Replacement of the address", .lines(lines))]
    }

    private static func sentence(on proof: EmailProof) -> String {
        switch proof {
        case .claimed: "claimed: nobody has proven it"
        case .stated: "stated by a provider that does not run the mailbox"
        case .proven: "proven"
        }
    }

    private static func identities(
        of account: Account, _ details: AccountDetails, _ visitor: ConsoleVisitor
    ) -> ConsoleTable {
        let rows = account.identities.map { identity -> [ConsoleCell] in
            let grants = details.grants.filter { $0.identityID == identity.id }
            var state: [ConsoleCell] = [
                .badge(identity.authorization.rawValue, identity.authorization == .revoked ? .bad : .plain)
            ]
            if let block = identity.block {
                state.append(.row([.badge("blocked", .bad), .text(block.reason), .time(block.since)]))
            }
            if let since = identity.credentialChangeRequiredAt {
                state.append(.row([.badge("change of credentials required", .bad), .time(since)]))
            }
            state += grants.map { .lines([.code($0.clientID.text), .row([.text("granted"), .time($0.createdAt)])]) }
            return [
                .lines([.text(identity.key.provider.brand), .text(identity.email?.text), .code("\(identity.id)")]),
                .lines([.code(identity.key.subject.text), .text(identity.key.realm.text)]),
                .lines(state),
                .lines([
                    .row([.text("linked"), .time(identity.linkedAt)]),
                    .row([.text("used"), .noted(identity.lastSignInAt, everySeconds: 3_600, at: visitor.now)]),
                ]),
                .row(visitor.buttons(for: identity, of: account)),
            ]
        }
        return ConsoleTable(
            caption: "Identities",
            columns: ["Identity", "Subject and realm", "Authorization", "Times", "Acts"],
            rows: rows,
            whenEmpty: "No identity is linked.")
    }

    private static func sessions(
        _ sessions: Page<SessionSummary, SessionID>, of id: AccountID, _ visitor: ConsoleVisitor
    ) -> ConsoleTable {
        ConsoleTable(
            caption: "Sessions",
            columns: (sessions.items.first.map { facts($0) } ?? []).map(\.label) + ["Acts"],
            rows: sessions.items.map { facts($0).map(\.value) + [.row(visitor.buttons(for: $0))] },
            whenEmpty: "Nobody is signed in.",
            next: sessions.next.map { consolePath(path(of: id), [("sessions", "\($0)")]) })
    }

    static func facts(_ session: SessionSummary) -> [ConsoleFact] {
        let device = [session.device?.name, session.device?.platform].compactMap(\.self).joined(separator: ", ")
        return [
            ConsoleFact("Session", .code("\(session.id)")), ConsoleFact("Device", .text(device)),
            ConsoleFact("Opened from", .text(session.address)),
            ConsoleFact("Last used from", .text(session.lastUsedAddress)),
            ConsoleFact("Opened", .time(session.createdAt)), ConsoleFact("Used", .time(session.lastUsedAt)),
            ConsoleFact("By", .text(session.methods.map(\.rawValue).joined(separator: ", "))),
        ]
    }

    private static func clients(
        _ clients: [LinkedClient], of id: AccountID, _ visitor: ConsoleVisitor
    ) -> ConsoleTable {
        ConsoleTable(
            caption: "Linked clients", columns: ["Client", "Scopes", "Linked", "Used", "Acts"],
            rows: clients.map { client in
                [
                    .lines([.text(client.name), .code(client.clientID.text)]), .code(client.scopes.description),
                    .time(client.linkedAt), .noted(client.lastUsedAt, everySeconds: 60, at: visitor.now),
                    .row(visitor.buttons(for: client, of: id)),
                ]
            }, whenEmpty: "No client is linked.")
    }

    /// What has happened to the account, the latest first.
    private func story(of id: AccountID, after cursor: AuditCursor?) async throws -> [ConsoleBlock] {
        var filter = AuditFilter()
        filter.accountID = id
        let events = try await administration.auditEvents(filter, before: cursor, limit: Self.pageSize)
        return [
            .table(
                Self.table(
                    of: events.items, caption: "What has happened to the account",
                    next: events.link(Self.path(of: id)), accounts: nil))
        ]
    }
}
