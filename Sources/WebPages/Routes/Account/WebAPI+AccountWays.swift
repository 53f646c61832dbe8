import Accounts
import HTTPServer
import OAuthServer
import Primitives
import SignIn

/// What opens the account, and which clients are linked to it: one more, one less.
extension WebAPI {
    var accountWayRoutes: [Route] {
        [
            Route(.get, "/web/account/link/{provider}", priority: .reading) { request in
                let provider = try request.parameter("provider", as: linkable)
                return try await show(request, for: .link(provider), isFresh: true) { visit in
                    try linkPage(provider, visit)
                }
            },
            Route(.post, "/web/account/link/{provider}") { request in try await startLinking(request) },
            Route(.get, AccountPath.unlink, priority: .reading) { request in
                guard !request.isSpeculative else { return untouched(request) }
                return try await ask(about: Unlinking(try request.queryValues()), request)
            },
            Route(.post, AccountPath.unlink, priority: .revoking) { request in try await takeUnlinking(request) },
        ]
    }

    // MARK: Linking

    private func linkable(_ text: String) -> Provider? {
        Provider(rawValue: text).flatMap { signIn.configuration.providers.contains($0) ? $0 : nil }
    }

    private func startLinking(_ request: Request) async throws -> Response {
        let provider = try request.parameter("provider", as: linkable)
        try accountForm(of: request, AccountPath.link(provider)) { _ in }
        return try await visit(request, for: .link(provider), isFresh: true) { visit in
            let browser = visit.browser
            let url = try await signIn.startLinking(
                provider, to: visit.session, browser: browser, languages: visit.languages, by: visit.call)
            return redirect(to: url, isIsolated: true).setting(cookies.cookie(browser))
        }
    }

    private func linkPage(_ provider: Provider, _ visit: AccountVisit) throws -> AccountQuestionPage {
        AccountQuestionPage(
            subject: .link(provider), account: AccountTitle(masked: visit.account),
            form: try visit.target(AccountPath.link(provider)), cancelLink: visit.accountLink,
            isOfOtherAccount: visit.isOfOtherAccount)
    }

    // MARK: Unlinking

    /// What a form or a link means to unlink.
    private enum Unlinking {
        case identity(IdentityID)
        case client(OAuthClientID)

        /// The question about it, which posts its answer there too: the form's token is good for this subject alone.
        var question: String {
            switch self {
            case .identity(let id): "\(AccountPath.unlink)?identity=\(id)"
            case .client(let id): "\(AccountPath.unlink)?client=\(PercentEncoding.encode(id.text))"
            }
        }

        var act: AccountAct {
            switch self {
            case .identity(let id): .unlinkIdentity(id)
            case .client(let id): .unlinkClient(id)
            }
        }

        init?(identity: IdentityID?, client: OAuthClientID?) {
            switch (identity, client) {
            case (let id?, nil): self = .identity(id)
            case (nil, let id?): self = .client(id)
            default: return nil
            }
        }

        init?(_ values: QueryValues) {
            self.init(
                identity: values.only("identity").flatMap(IdentityID.init),
                client: values.only("client").flatMap(OAuthClientID.init))
        }

        init?(_ act: AccountAct?) {
            switch act {
            case .unlinkIdentity(let id): self = .identity(id)
            case .unlinkClient(let id): self = .client(id)
            default: return nil
            }
        }
    }

    /// The page of the account asks, and only the question's own form unlinks.
    private func takeUnlinking(_ request: Request) async throws -> Response {
        let asked = Unlinking(try request.queryValues())
        let subject = try accountForm(of: request, asked?.question ?? AccountPath.unlink) { form in
            Unlinking(
                identity: form.optionalValue("identity", as: IdentityID.init),
                client: form.optionalValue("client", as: OAuthClientID.init))
        }
        if let asked {
            return try await visit(request, for: asked.act, isFresh: true) { visit in
                try await unlink(asked, visit, request)
            }
        }
        guard let subject else { throw Problem(field: "identity", .required) }
        return try await ask(about: subject, request)
    }

    /// - Parameter named: `nil` for what the person comes back to.
    private func ask(about named: Unlinking?, _ request: Request) async throws -> Response {
        try await visit(request, for: named?.act, isFresh: true) { visit in
            guard let subject = named ?? Unlinking(visit.errand?.act) else { return redirect(to: visit.accountLink) }
            let asked: UnlinkPage.Subject
            switch subject {
            case .identity(let id):
                let account = visit.account
                guard let identity = account.identities.first(where: { $0.id == id }) else {
                    return try await missing(SignInFailure.identityNotFound, visit, request)
                }
                guard account.hasSignInMethod(besides: id) else {
                    return try await refused(.lastSignInMethod, visit, request)
                }
                asked = .provider(
                    id, identity.key.provider, email: identity.email?.text,
                    opensSession: visit.session.identityID == id)
            case .client(let id):
                guard let client = try await linkedClient(id, of: visit) else {
                    return try await missing(Problem(.notFound), visit, request)
                }
                asked = .client(id.text, name: client.name)
            }
            let page = UnlinkPage(
                subject: asked, account: AccountTitle(masked: visit.account),
                form: try visit.target(subject.question), cancelLink: visit.accountLink,
                isOfOtherAccount: visit.isOfOtherAccount)
            return response(account: page, to: request)
        }
    }

    /// What is asked about is not of this account: perhaps of the one that the person was signed in to before.
    private func missing(_ error: any Error, _ visit: AccountVisit, _ request: Request) async throws -> Response {
        guard visit.isOfOtherAccount else { throw error }
        return response(account: try await accountPage(visit, notice: .otherAccount), to: request)
            .setting(cookies.cookie(visit.browser))
    }

    private func unlink(_ subject: Unlinking, _ visit: AccountVisit, _ request: Request) async throws -> Response {
        let notice: AccountPage.Notice?
        switch subject {
        case .identity(let id):
            let provider = visit.account.identities.first { $0.id == id }?.key.provider
            do throws(SignInFailure) {
                try await accounts.unlink(id, of: visit.session, by: visit.call)
            } catch {
                switch error {
                case .lastSignInMethod, .rateLimited: return try await refused(error, visit, request)
                // Its own question was answered before, as in another tab.
                case .identityNotFound: return try done(nil, visit)
                default: throw error
                }
            }
            // It may have ended with the identity that opened it.
            if let provider, try await signIn.sessions.session(of: visit.secret, by: visit.call) == nil {
                return try signedOut(request, because: .unlinked(provider))
            }
            notice = provider.map { .unlinkedProvider($0) }
        case .client(let id):
            let name = try await linkedClient(id, of: visit)?.name
            _ = try await oauth?.unlink(id, of: visit.session, by: visit.call)
            notice = name.map { .unlinkedClient($0) }
        }
        return try done(notice, visit)
    }

    private func linkedClient(_ id: OAuthClientID, of visit: AccountVisit) async throws -> LinkedClient? {
        try await linkedClients(of: visit).first { $0.clientID == id }
    }

    private func refused(_ failure: SignInFailure, _ visit: AccountVisit, _ request: Request) async throws -> Response {
        try await response(to: request, after: failure, wrong: .lastSignInMethod) { fault in
            try await accountPage(visit, error: fault)
        }.setting(cookies.cookie(visit.browser))
    }
}
