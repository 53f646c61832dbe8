import Accounts
import HTTPAPI
import HTTPServer
import OAuthServer
import SignIn

/// The page that asks before an act, and its form.
extension ConsoleAPI {
    private static let maximumReasonBytes = 1024

    func routes(for kind: ConsoleAct.Kind) -> [Route] {
        if kind == .disableClient || kind == .enableClient, oauth == nil { return [] }
        return [
            page(kind.template, nil) { request, visitor in
                try kind.scopes.forEach(visitor.administrator.require)
                let id = try request.parameter("id") { $0 }
                let act = try await act(kind, on: id)
                return try show(try question(kind, act, on: id, visitor), in: visitor)
            },
            Route(.post, kind.template, priority: .revoking) { request in
                try await carryOut(kind, request)
            },
        ]
    }

    private func question(
        _ kind: ConsoleAct.Kind, _ act: ConsoleAct, on id: String, _ visitor: ConsoleVisitor,
        typed: ActFields = ActFields(), notice: ConsoleNotice? = nil
    ) throws -> ConsolePage {
        let target = try visitor.target(kind.path(of: id))
        var fields = act.fields
        for index in fields.indices { fields[index].value = typed[fields[index].name] }
        if kind.reason != .none {
            fields.append(
                ConsoleForm.Field(
                    name: "reason", label: "Reason", kind: .text(maximumBytes: 1024), value: typed.reason,
                    isRequired: kind.reason == .required,
                    hint: kind.reason == .required
                        ? "It stays in the audit trail with your key's name."
                        : "It may be empty. It stays in the audit trail with your key's name."))
        }
        return ConsolePage(
            kind.label, notice: notice,
            [
                .facts(act.subject), .paragraph(.text(kind.consequence)),
                .form(
                    ConsoleForm(
                        action: target.action, csrf: target.csrf, fields: fields, button: kind.label,
                        isDangerous: kind.isDangerous, cancel: act.back)),
            ])
    }

    private func carryOut(_ kind: ConsoleAct.Kind, _ request: Request) async throws -> Response {
        let id = try request.parameter("id") { $0 }
        let form = try await form(of: request, action: kind.path(of: id)) { fields in
            ActFields(
                reason: fields.optionalString("reason", maximumBytes: 8192) ?? "",
                email: fields.optionalString("email") ?? "",
                keepsIdentity: fields.optionalString("keep") == "true")
        }
        guard let (visitor, fields) = form else { return showAlone(signInPage(for: request), .unauthorized) }
        try kind.scopes.forEach(visitor.administrator.require)
        let act = try await act(kind, on: id)
        if let fault = Self.fault(in: fields.reason, of: kind) {
            return try show(
                try question(kind, act, on: id, visitor, typed: fields, notice: .error(fault)), .badRequest,
                in: visitor)
        }
        if kind == .export { return try await download(id, by: visitor.administrator) }
        let isDone: Bool
        do throws(AdministrationFailure) {
            isDone = try await perform(kind, on: id, fields, by: visitor.administrator)
        } catch {
            guard let sentence = Self.sentence(on: error) else { throw error }
            let page = try question(kind, act, on: id, visitor, typed: fields, notice: .error(sentence))
            var response = try show(page, error.problem.code.status, in: visitor)
            response.problem = error.problem
            return response
        }
        guard isDone else {
            let notice = ConsoleNotice.error(Self.sentence(onNothingDoneBy: kind))
            return try show(
                try question(kind, act, on: id, visitor, typed: fields, notice: notice), .conflict, in: visitor)
        }
        return redirect(to: consolePath(act.back, [("done", try kind.proof(for: act.back, visitor))]))
    }

    private static func fault(in reason: String, of kind: ConsoleAct.Kind) -> String? {
        if kind.reason == .required, reason.isEmpty { return "Say why: the reason can't be empty." }
        return reason.utf8.count > maximumReasonBytes ? "The reason is too long: it has 1,024 bytes at most." : nil
    }

    private static func sentence(onNothingDoneBy kind: ConsoleAct.Kind) -> String {
        switch kind {
        case .retry: "There is nothing left to try again: a newer revocation has what this one was about."
        case .unblock: "The identity is not blocked."
        default: "Nothing had to be done."
        }
    }

    private func download(_ id: String, by administrator: Administrator) async throws -> Response {
        let accountID: AccountID = try Self.identifier(id)
        let export = try await administration.export(accountID, by: administrator)
        return download(.streamed(export), name: "account-\(accountID).json")
    }

    /// What was typed into the form of an act.
    private struct ActFields: Sendable {
        var reason = ""
        var email = ""
        var keepsIdentity = false

        var optionalReason: String? { reason.isEmpty ? nil : reason }

        /// As the field of this name shows it again.
        subscript(name: String) -> String {
            switch name {
            case "email": email
            case "keep": keepsIdentity ? "true" : ""
            default: ""
            }
        }
    }

    /// Why an act can't be done, where another try or another act may help.
    private static func sentence(on failure: AdministrationFailure) -> String? {
        switch failure {
        case .lastSignInMethod: "It is the last way to sign in to an account that is in use."
        case .emailRequired: "The account has no way to sign in left: give it an address."
        case .emailNotAllowed: "The account has a way to sign in: only its owner sets its address."
        case .emailTaken: "Another account has this address."
        case .emailUnchanged: "The account has this address."
        case .accountDisabled: "The account is disabled."
        case .mailUnavailable: "This deployment sends no mail."
        case .unknownKey, .forbidden, .notFound, .overloaded, .storageUnavailable, .fault: nil
        }
    }

    // MARK: - What each is about

    private func act(_ kind: ConsoleAct.Kind, on id: String) async throws -> ConsoleAct {
        switch kind {
        case .disable, .signOut, .delete, .enable, .export:
            let account = try await administration.account(try Self.identifier(id)).account
            var act = ConsoleAct(subject: Self.subject(account), back: Self.path(of: account.id))
            if kind == .enable, !account.hasSignInMethod {
                act.fields = [
                    ConsoleForm.Field(
                        name: "email", label: "Address", kind: .text(maximumBytes: 254), isRequired: true,
                        hint: "The account has no way to sign in left: a code mailed to this address will be one.")
                ]
            }
            return act
        case .unlink, .revoke, .unblock:
            let (account, identity) = try await administration.identity(try Self.identifier(id))
            var act = ConsoleAct(
                subject: Self.subject(account) + [
                    ConsoleFact("Identity", .row([.text(identity.key.provider.brand), .code("\(identity.id)")])),
                    ConsoleFact("Subject", .code(identity.key.subject.text)),
                ], back: Self.path(of: account.id))
            if kind == .revoke {
                act.fields = [
                    ConsoleForm.Field(name: "keep", label: "Keep the identity linked", kind: .checkbox)
                ]
            }
            return act
        case .retry:
            let revocation = try await administration.revocation(try Self.identifier(id))
            return ConsoleAct(
                subject: [
                    ConsoleFact("Revocation", .code("\(revocation.id)")),
                    ConsoleFact("Provider", .text(revocation.provider.brand)),
                    ConsoleFact("Last error", .code(revocation.lastError)),
                ], back: "/console/revocations")
        case .replay:
            let event = try await administration.providerEvent(try Self.identifier(id))
            return ConsoleAct(
                subject: [
                    ConsoleFact("Event", .code("\(event.id)")), ConsoleFact("Provider", .text(event.provider)),
                    ConsoleFact("Type", .text(event.type)), ConsoleFact("Subject", .code(event.subject)),
                ], back: "/console/provider-events")
        case .disableClient, .enableClient:
            guard let oauth, let clientID = OAuthClientID(id) else { throw AdministrationFailure.notFound }
            let client = try await oauth.client(clientID)
            return ConsoleAct(
                subject: [ConsoleFact("Client", .text(client.name)), ConsoleFact("Client id", .code(client.id.text))],
                back: "/console/oauth-clients")
        case .revokeKey:
            let keyID: AdminKeyID = try Self.identifier(id)
            guard let key = try await administration.adminKeys().first(where: { $0.id == keyID }) else {
                throw AdministrationFailure.notFound
            }
            return ConsoleAct(
                subject: [ConsoleFact("Key", .text(key.name)), ConsoleFact("Key id", .code("\(key.id)"))],
                back: "/console/admin-keys")
        }
    }

    private static func subject(_ account: Account) -> [ConsoleFact] {
        [
            ConsoleFact("Account", .code("\(account.id)")), ConsoleFact("Address", .text(account.email?.text)),
            ConsoleFact("Name", .text(account.displayName?.text)),
            ConsoleFact("Status", .text(account.status.rawValue)),
        ]
    }

    private static func identifier<Subject>(_ text: String) throws(AdministrationFailure) -> Identifier<Subject> {
        guard let id = Identifier<Subject>(text) else { throw .notFound }
        return id
    }

    /// - Returns: `false` when there was nothing to do, and so nothing was recorded.
    private func perform(
        _ kind: ConsoleAct.Kind, on id: String, _ fields: ActFields, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Bool {
        let reason = fields.optionalReason
        switch kind {
        case .export: break
        case .disable:
            try await administration.disable(try Self.identifier(id), reason: fields.reason, by: administrator)
        case .enable:
            try await administration.enable(
                try Self.identifier(id), email: EmailAddress(fields.email), reason: fields.reason, by: administrator)
        case .signOut:
            try await administration.signOut(try Self.identifier(id), reason: fields.reason, by: administrator)
        case .delete:
            try await administration.delete(try Self.identifier(id), reason: reason, by: administrator)
        case .unlink:
            try await administration.detach(try Self.identifier(id), reason: reason, by: administrator)
        case .revoke:
            _ = try await administration.revoke(
                try Self.identifier(id), unlinking: !fields.keepsIdentity, reason: fields.reason, by: administrator)
        case .unblock:
            guard try await administration.identity(try Self.identifier(id)).identity.isBlocked else { return false }
            try await administration.unblock(try Self.identifier(id), reason: fields.reason, by: administrator)
        case .retry:
            let retried = try await administration.retry(try Self.identifier(id), reason: reason, by: administrator)
            return retried.status != .failed
        case .replay:
            _ = try await administration.replay(try Self.identifier(id), reason: reason, by: administrator)
        case .disableClient, .enableClient:
            guard let oauth, let clientID = OAuthClientID(id) else { throw .notFound }
            try await oauth.setStatus(
                of: clientID, to: kind == .disableClient ? .disabled : .active, by: administrator.call)
        case .revokeKey:
            try await administration.revokeKey(try Self.identifier(id), by: administrator)
        }
        return true
    }
}
