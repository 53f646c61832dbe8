import Accounts
import Administration
import HTTPAPI
import HTTPServer

/// The page that asks before an act, and its form.
extension ConsoleAPI {
    var actRoutes: [Route] { Act.all.filter { !$0.needsOAuthServer || administration.oauth != nil }.flatMap(routes) }

    private func routes(for act: Act) -> [Route] {
        [
            page(act.consoleTemplate, nil) { request, visitor in
                try act.scopes.forEach(visitor.administrator.require)
                let (id, clientID) = try request.ids(of: act)
                let subject: ConsoleSubject
                do {
                    subject = try await self.subject(of: act, id, clientID, by: visitor.administrator.call)
                } catch AdministrationFailure.notFound where act.subject.isID(id) {
                    let accountID = act.subject == .account ? AccountID(id) : nil
                    return try gone(act, clientID?.text ?? id, of: accountID, visitor)
                }
                return try show(try question(act, on: subject, visitor), in: visitor)
            },
            Route(.post, act.consoleTemplate, priority: .revoking) { request in
                try await carryOut(act, request)
            },
        ]
    }

    private func question(
        _ act: Act, on subject: ConsoleSubject, _ visitor: ConsoleVisitor, typed: ActFields = ActFields(),
        fault: ConsoleFault? = nil
    ) throws -> ConsolePage {
        let target = try visitor.target(act.consolePath(of: subject.id, client: subject.clientID?.text))
        var fields = act.fields.compactMap { Self.formField($0, for: subject, typed) }
        if act.reason != .none {
            fields.append(
                ConsoleForm.Field(
                    name: "reason", label: "Reason", kind: .text(maximumBytes: ActInput.longestReason),
                    value: typed.reason, isRequired: act.reason == .required,
                    hint: act.reason == .required
                        ? "It stays in the audit trail with your name, or your key's."
                        : "It may be empty. It stays in the audit trail with your name, or your key's."))
        }
        if let accountID = subject.accountID {
            fields.append(ConsoleForm.Field(name: "account", label: "", kind: .hidden, value: "\(accountID)"))
        }
        var blocks: [ConsoleBlock] = [.facts(subject.facts), .paragraph(.text(act.consequence))]
        if let proof = subject.emailProof, let further = act.consequenceByProof[proof] {
            blocks.append(.paragraph(.text(further)))
        }
        blocks.append(
            .form(
                ConsoleForm(
                    action: target.action, csrf: target.csrf, fields: fields.marked(by: fault), button: act.label,
                    isDangerous: act.isDangerous, cancel: subject.page)))
        var page = ConsolePage(act.label, notice: fault.map { .error($0.sentence) }, blocks)
        page.place = "\(subject.page)/\(act.name)"
        return page
    }

    private static func formField(
        _ field: Act.Field, for subject: ConsoleSubject, _ typed: ActFields
    ) -> ConsoleForm.Field? {
        switch field {
        case .keep:
            ConsoleForm.Field(
                name: "keep", label: "Keep the identity linked", kind: .checkbox, value: typed.keeps ? "true" : "")
        case .name:
            ConsoleForm.Field(
                name: "displayName", label: "Name", kind: .text(maximumBytes: 1024),
                value: typed.name ?? subject.name ?? "", hint: "Empty for no name.")
        case .address:
            ConsoleForm.Field(
                name: "email", label: "New address", kind: .text(maximumBytes: 254), value: typed.email,
                isRequired: true)
        case .since:
            ConsoleForm.Field(
                name: "since", label: "Since", kind: .text(maximumBytes: 32), value: typed.since, isRequired: true,
                hint: "As \(Timestamp.typedForms), in UTC.")
        case .client: nil
        case .missingAddress:
            subject.needsAddress
                ? ConsoleForm.Field(
                    name: "email", label: "Address", kind: .text(maximumBytes: 254), value: typed.email,
                    isRequired: true,
                    hint: "The account has no way to sign in left: a code mailed to this address will be one.") : nil
        }
    }

    /// In bytes: one that is too long comes back to be shortened.
    private static let longestTypedReason = 8192

    private func carryOut(_ act: Act, _ request: Request) async throws -> Response {
        let (id, clientID) = try request.ids(of: act)
        let action = act.consolePath(of: id, client: clientID?.text)
        let form = try await form(of: request, action: action) { fields in
            ActFields(
                reason: fields.optionalString("reason", maximumBytes: Self.longestTypedReason) ?? "",
                email: fields.typed("email") ?? "", name: fields.optionalString("displayName"),
                keeps: fields.optionalString("keep") == "true", since: fields.typed("since") ?? "",
                accountID: fields.optionalString("account").flatMap { AccountID($0) })
        }
        guard let (visitor, typed) = form else { return signInInstead(request) }
        try act.scopes.forEach(visitor.administrator.require)
        let accountID = act.subject == .account ? AccountID(id) : typed.accountID
        let subject: ConsoleSubject
        do {
            subject = try await self.subject(of: act, id, clientID, by: visitor.administrator.call)
        } catch AdministrationFailure.notFound where act.subject.isID(id) {
            return try gone(act, clientID?.text ?? id, of: accountID, visitor)
        }
        func again(_ fault: ConsoleFault, _ status: Status, _ problem: Problem? = nil) throws -> Response {
            let page = try question(act, on: subject, visitor, typed: typed, fault: fault)
            let response = try show(page, status, in: visitor)
            return problem.map { response.refusing($0) } ?? response
        }
        if let fault = typed.fault(for: act) { return try again(fault, .badRequest) }
        var input = typed.input
        input.client = clientID
        let result: ActResult
        do throws(AdministrationFailure) {
            result = try await act.perform(administration, id, input, visitor.administrator)
        } catch {
            if error == .notFound { return try gone(act, clientID?.text ?? id, of: accountID, visitor) }
            guard let sentence = error.sentence else { throw error }
            return try again(
                ConsoleFault(sentence: sentence, field: error.field), error.problem.code.status, error.problem)
        }
        switch result {
        case .document(let export): return download(.streamed(export), name: "\(act.subject.noun)-\(id).json")
        case .nothing, .account(_, isChanged: false), .record(_, isChanged: false), .changed(_, isChanged: false):
            return try again(ConsoleFault(sentence: act.nothing, field: nil), .conflict)
        case .failed(let sentence): return try again(ConsoleFault(sentence: sentence, field: nil), .conflict)
        case .done, .accepted, .account, .record, .changed:
            return redirect(to: try act.doneLink(to: subject.page, visitor))
        }
    }

    /// The sign-in form in place of the act, with the reason that was typed: the question that follows is without it.
    private func signInInstead(_ request: Request) -> Response {
        var page = signInPage(to: request.target)
        page.notice = .error("Your session had ended: nothing was done.")
        let read = try? request.form(ignoringUnknown: true) { fields in
            fields.optionalString("reason", maximumBytes: Self.longestTypedReason) ?? ""
        }
        if let reason = read, !reason.isEmpty {
            page.blocks.insert(.facts([ConsoleFact("The reason that you typed", .text(reason))]), at: 0)
        }
        return showAlone(page, .unauthorized).refusing(Problem(.invalidSession))
    }

    /// The answer to the second press of a button, and to an act on what ended by itself or by another administrator's.
    ///
    /// - Parameter id: of what is gone.
    private func gone(
        _ act: Act, _ id: String, of accountID: AccountID?, _ visitor: ConsoleVisitor
    ) throws -> Response {
        let trail: ConsoleCell
        if let accountID {
            trail = .link("What has happened to the account", to: Self.path(of: accountID))
        } else if visitor.may(.read) {
            trail = .link("Audit trail", to: ConsolePath.audit)
        } else {
            trail = .link("Overview", to: ConsolePath.root)
        }
        var page = ConsolePage(
            act.label,
            notice: .error(
                "It is gone already, and nothing was done now: it has ended, or you or somebody else did this before."),
            [.paragraph(.code(id)), .paragraph(trail)])
        page.place = accountID.map(Self.path(of:)) ?? ConsolePath.page(of: act.subject)
        return try show(page, .notFound, in: visitor).refusing(Problem(.notFound))
    }

    /// What was typed into the form of an act, and what the page had put there.
    private struct ActFields: Sendable {
        var reason = ""
        var email = ""
        var name: String?
        var keeps = false
        var since = ""
        /// Whose the identity or the session was.
        var accountID: AccountID?

        var input: ActInput {
            ActInput(
                reason: reason.isEmpty ? nil : reason, email: EmailAddress(email), name: name.flatMap(DisplayName.init),
                keepsIdentity: keeps, since: time)
        }

        private var time: Timestamp? { Timestamp(typed: since) }

        func fault(for act: Act) -> ConsoleFault? {
            func on(_ field: String, _ sentence: String) -> ConsoleFault {
                ConsoleFault(sentence: sentence, field: field)
            }
            if reason.isEmpty {
                if act.reason == .required { return on("reason", "Say why: the reason can't be empty.") }
            } else if reason.utf8.count > ActInput.longestReason {
                return on("reason", "The reason is too long: it has 1,024 bytes at most.")
            } else if !ActInput.isReason(reason) {
                return on("reason", "The reason has to be one line, and not of spaces alone.")
            }
            if act.fields.contains(.name), name.map({ !$0.isEmpty && DisplayName($0) == nil }) ?? true {
                return on("displayName", "This is no name. Leave it empty for none.")
            }
            if act.fields.contains(.since), time == nil {
                return on("since", "This is no time. Write it as \(Timestamp.typedForms).")
            }
            return act.fields.contains(.address) && EmailAddress(email) == nil
                ? on("email", "This is no email address.") : nil
        }
    }

    // MARK: - What each is about

    /// What an act is done to, as the page shows it that asks.
    private struct ConsoleSubject: Sendable {
        let id: String
        var facts: [ConsoleFact]
        /// To which *Cancel* and the act lead.
        let page: String
        /// Whose an identity or a session is, which the form carries: it may be gone when the form comes.
        var accountID: AccountID?
        /// The client that is linked to an account, for an act that takes one.
        var clientID: OAuthClientID?
        /// Whether it is an account without a way to sign in.
        var needsAddress = false
        /// That an account has.
        var name: String?
        /// How well the address of an account is known.
        var emailProof: EmailProof?
    }

    private func subject(
        of act: Act, _ id: String, _ clientID: OAuthClientID?, by call: Call
    ) async throws -> ConsoleSubject {
        func known<Of>(_ parse: (String) -> Of?) throws(AdministrationFailure) -> Of {
            guard let value = parse(id) else { throw .notFound }
            return value
        }
        func make(_ facts: [ConsoleFact], page: String) -> ConsoleSubject {
            ConsoleSubject(id: id, facts: facts, page: page)
        }
        func make(_ facts: [ConsoleFact], of account: Account) -> ConsoleSubject {
            ConsoleSubject(
                id: id, facts: Self.facts(account) + facts, page: Self.path(of: account.id), accountID: account.id)
        }
        switch act.subject {
        case .account:
            let record = try await administration.account(try known(AccountID.init))
            let account = record.account
            var subject = make(Self.facts(account), page: Self.path(of: account.id))
            if [Act.replaceEmail.name, Act.cancelEmailReplacement.name].contains(act.name) {
                subject.facts += try await pendingReplacement(of: record)
            }
            subject.needsAddress = !account.hasSignInMethod
            subject.name = account.displayName?.text
            subject.emailProof = account.emailProof
            if let clientID {
                let clients = try await administration.oauth?.linkedClients(of: account.id, by: call) ?? []
                guard let client = clients.first(where: { $0.clientID == clientID }) else {
                    throw AdministrationFailure.notFound
                }
                subject.clientID = clientID
                subject.facts.append(ConsoleFact("Client", .lines([.text(client.name), .code(clientID.text)])))
            }
            return subject
        case .identity:
            let (account, identity) = try await administration.identity(try known(IdentityID.init))
            return make(
                [
                    ConsoleFact("Identity", .row([.text(identity.key.provider.brand), .code("\(identity.id)")])),
                    ConsoleFact("Subject", .code(identity.key.subject.text)),
                ], of: account)
        case .session:
            let (account, session) = try await administration.session(try known(SessionID.init))
            let facts = session.map { Self.facts($0) } ?? [ConsoleFact("Session", .code(id))]
            return make(facts, of: account)
        case .revocation:
            let revocation = try await administration.revocation(try known(RevocationID.init))
            return make(
                Self.facts(revocation, ["revocationId", "provider", "lastError"]), page: ConsolePath.revocations)
        case .providerEvent:
            let event = try await administration.providerEvent(try known(ProviderEventID.init))
            return make(
                Self.facts(event, ["eventId", "provider", "type", "subject"]), page: ConsolePath.providerEvents)
        case .oauthClient:
            guard let oauth = administration.oauth else { throw AdministrationFailure.notFound }
            let client = try await oauth.client(try known(OAuthClientID.init))
            return make(Self.facts(client, ["name", "clientId"]), page: ConsolePath.oauthClients)
        case .adminKey:
            let keyID = try known(AdminKeyID.init)
            guard let key = try await administration.adminKeys().first(where: { $0.id == keyID }) else {
                throw AdministrationFailure.notFound
            }
            return make(Self.facts(key, ["name", "keyId"]), page: ConsolePath.adminKeys)
        case .webhook:
            return make(
                Self.facts(try await administration.webhook(id), ["name", "url", "status", "lastError"]),
                page: ConsolePath.webhooks)
        }
    }

    private static func facts(_ account: Account) -> [ConsoleFact] {
        [
            ConsoleFact("Account", .code("\(account.id)")), ConsoleFact("Address", .text(account.email?.text)),
            ConsoleFact("Name", .text(account.displayName?.text)),
            ConsoleFact("Status", .text(account.status.rawValue)),
        ]
    }

    private static func facts<Record: AdminRecord>(_ record: Record, _ names: [String]) -> [ConsoleFact] {
        names.compactMap { name in
            Record.fields.first { $0.name == name }.map { ConsoleFact($0.title, ConsoleCell($0.value(record))) }
        }
    }
}

extension AdministrationFailure {
    /// The field of the form of an act that it is about.
    fileprivate var field: String? {
        switch self {
        case .emailRequired, .emailTaken, .emailUnchanged: "email"
        default: nil
        }
    }
}

extension Request {
    /// What the path of an act names: what it is done to, and the linked client if it is about one.
    fileprivate func ids(of act: Act) throws(Problem) -> (id: String, clientID: OAuthClientID?) {
        let id = try parameter("id") { $0 }
        guard act.fields.contains(.client) else { return (id, nil) }
        let clientID: OAuthClientID = try parameter("clientId", as: OAuthClientID.init)
        return (id, clientID)
    }
}
