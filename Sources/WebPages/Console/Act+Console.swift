import Accounts
import Administration
import HTTPServer
import Webhooks

/// How the console shows an act: a button on a page, which leads to a page that says what it will do, whose form carries
/// it out.
extension Act {
    /// With the parameter `id`, and `clientId` where it is about one of several clients.
    var consoleTemplate: String { consolePath(of: "{id}", client: "{clientId}") }

    /// - Parameter client: the id of the linked client, for an act that takes one.
    func consolePath(of id: String, client: String? = nil) -> String {
        let path = "\(ConsolePath.page(of: subject))/\(id)/\(name)"
        guard fields.contains(.client), let client else { return path }
        return "\(path)/\(client)"
    }

    /// What the page that follows says was done.
    private var word: String { "\(subject.noun)-\(name)" }

    /// In seconds.
    private static let longestNotice: Int64 = 60

    /// The page that follows, which says that it was done.
    func doneLink(to path: String, _ visitor: ConsoleVisitor) throws -> String {
        try DoneLink.link(to: path, saying: "\(word).\(visitor.now.seconds)", secret: visitor.secret.text)
    }

    /// What the form before has done, as the parameter `done` says. A page that is loaded again later doesn't say it: it
    /// may not be so any more.
    static func notice(for request: Request, _ visitor: ConsoleVisitor) throws -> ConsoleNotice? {
        let done = try request.parameterValue("done")
        let said = try DoneLink.word(of: done, at: visitor.path, secret: visitor.secret.text)
        guard let parts = said?.split(separator: "."), parts.count == 2, let seconds = Int64(parts[1]) else {
            return nil
        }
        // Another process may have done it, whose clock is a little ahead.
        let (age, isOverflow) = visitor.now.seconds.subtractingReportingOverflow(seconds)
        guard !isOverflow, (-longestNotice...longestNotice).contains(age) else { return nil }
        let word = String(parts[0])
        return all.first { $0.word == word }.map { .done($0.result) }
    }
}

extension ConsoleVisitor {
    private func buttons(_ acts: [Act], of id: String, client: OAuthClientID? = nil) -> [ConsoleCell] {
        acts.filter { act in
            act.scopes.isSubset(of: administrator.scopes) && (administrator.sendsMail || !act.needsMail)
        }.map {
            .button($0.label, to: $0.consolePath(of: id, client: client?.text), isDangerous: $0.isDangerous)
        }
    }

    func buttons(for record: AccountRecord) -> [ConsoleCell] {
        var acts: [Act] = [record.account.status == .active ? .disableAccount : .enableAccount, .signOutAccount]
        if record.account.status == .active { acts.append(.replaceEmail) }
        if record.emailReplacement != nil { acts.append(.cancelEmailReplacement) }
        if record.account.status == .active, record.account.email != nil { acts.append(.mailCode) }
        return buttons(acts + [.renameAccount, .exportAccount, .deleteAccount], of: "\(record.account.id)")
    }

    /// What would be refused at the last way in is no button but a sentence.
    func buttons(for identity: Identity, of account: Account) -> [ConsoleCell] {
        let isLast = account.status == .active && !account.hasSignInMethod(besides: identity.id)
        var acts: [Act] = identity.isBlocked ? [.unblockIdentity] : []
        if !isLast { acts.append(.unlinkIdentity) }
        acts.append(.revokeIdentity)
        var cells = buttons(acts, of: "\(identity.id)")
        if isLast, Act.unlinkIdentity.scopes.isSubset(of: administrator.scopes) {
            cells.append(.text("The last way to sign in can't be unlinked."))
        }
        return cells
    }

    func buttons(for session: SessionSummary) -> [ConsoleCell] { buttons([.endSession], of: "\(session.id)") }

    func buttons(for client: LinkedClient, of id: AccountID) -> [ConsoleCell] {
        buttons([.unlinkClient], of: "\(id)", client: client.clientID)
    }

    func buttons(for revocation: Revocation) -> [ConsoleCell] {
        revocation.status == .done ? [] : buttons([.retryRevocation], of: "\(revocation.id)")
    }

    func buttons(for event: StoredProviderEvent) -> [ConsoleCell] {
        event.isPending ? [] : buttons([.replayEvent], of: "\(event.id)")
    }

    func buttons(for client: OAuthClient) -> [ConsoleCell] {
        buttons([client.status == .active ? .disableClient : .enableClient], of: client.id.text)
    }

    func buttons(for webhook: WebhookSummary) -> [ConsoleCell] {
        let isActive = webhook.record.status == .active
        // What waits is due at a resumption.
        let turns: [Act] =
            (isActive ? [.pauseWebhook] : []) + (isActive && webhook.record.parkedAccounts == 0 ? [] : [.resumeWebhook])
        return buttons([.testWebhook] + turns + [.replayWebhook], of: webhook.endpoint.name)
    }

    func buttons(for key: AdminKey) -> [ConsoleCell] {
        key.revokedAt == nil ? buttons([.revokeKey], of: "\(key.id)") : []
    }
}
