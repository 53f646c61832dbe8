import Accounts
import HTTPAPI
import HTTPServer
import SignIn

/// What leaves with the person: their data, and the account.
extension WebAPI {
    var accountEndRoutes: [Route] {
        [
            Route(.get, AccountPath.export, priority: .reading) { request in
                try await show(request, for: .export, isFresh: true) { visit in
                    try exportPage(visit)
                }
            },
            Route(.post, AccountPath.export, priority: .reading) { request in try await takeExport(request) },
            Route(.get, AccountPath.delete, priority: .reading) { request in
                try await show(request, for: .delete, isFresh: true) { visit in try await deletePage(visit) }
            },
            Route(.post, AccountPath.delete, priority: .revoking) { request in try await takeDeletion(request) },
        ]
    }

    // MARK: Export

    private func takeExport(_ request: Request) async throws -> Response {
        try accountForm(of: request, AccountPath.export) { _ in }
        return try await visit(request, for: .export, isFresh: true) { visit in
            do throws(SignInFailure) {
                var response = Response.streamed(try await accounts.export(of: visit.session, by: visit.call))
                response.headers = headers.fields(isIsolated: true)
                response.headers.append(("Content-Disposition", #"attachment; filename="account.json""#))
                return response
            } catch {
                return try await response(to: request, after: error, wrong: .tooManyTries) { fault in
                    try exportPage(visit, error: fault)
                }
            }
        }
    }

    private func exportPage(_ visit: AccountVisit, error: FormError? = nil) throws -> AccountQuestionPage {
        AccountQuestionPage(
            subject: .export, account: AccountTitle(masked: visit.account), form: try visit.target(AccountPath.export),
            cancelLink: visit.accountLink, isOfOtherAccount: visit.isOfOtherAccount, error: error)
    }

    // MARK: Deletion

    private func takeDeletion(_ request: Request) async throws -> Response {
        let asked = try accountForm(of: request, AccountPath.delete) { form in form.subject()?.account }
        // The answer comes once more, as by a double click: its session went with the account.
        let deleted = { () async throws -> Response? in
            guard let asked, try await accounts.isDeleted(asked) else { return nil }
            return try signedOut(request, because: .accountDeleted)
        }
        return try await visit(request, for: .delete, isFresh: true, over: deleted) { visit in
            try await accounts.delete(accountOf: visit.session, by: visit.call)
            return response(DeletedPage(), .accepted, to: request, isIsolated: true).setting(cookies.endedSession)
        }
    }

    private func deletePage(_ visit: AccountVisit) async throws -> DeletePage {
        DeletePage(
            account: AccountTitle(masked: visit.account), providers: visit.account.providers,
            clients: try await linkedClients(of: visit).map(\.name),
            form: try visit.target(AccountPath.delete, about: .account(visit.session.accountID)),
            cancelLink: visit.accountLink, isOfOtherAccount: visit.isOfOtherAccount)
    }
}
