import Accounts
import HTTPAPI
import HTTPServer
import OAuthServer
import Primitives
import SignIn

/// The page on which a person sees what is linked to their account, and unlinks it.
extension WebAPI {
    private static let accountPath = "/web/account"
    private static let unlinkPath = "/web/account/unlink"
    private static let signOutPath = "/web/sign-out"

    var accountRoutes: [Route] {
        [
            Route(.get, Self.accountPath, priority: .reading) { request in
                guard !request.isSpeculative else { return untouched }
                // Somebody else at this browser is not to see or change what is here.
                guard let secret = cookies.session(of: request),
                    let session = try await signIn.sessions.session(of: secret, by: call(of: request)),
                    session.isFresh(at: call(of: request).now)
                else { return try await signInToAccount(request) }
                return response(.account(try await accountPage(session, secret)), to: request, isIsolated: true)
            },
            Route(.post, Self.unlinkPath, priority: .revoking) { request in try await takeUnlinking(request) },
            Route(.post, Self.signOutPath, priority: .revoking) { request in
                let secret = cookies.session(of: request)
                try ownForm(of: request, action: Self.signOutPath, secret: secret?.text, flow: "") { _ in }
                try await signIn.sessions.end(secret, by: call(of: request))
                var response = response(
                    .signedOut(SignedOutPage(signInLink: Self.accountPath)), to: request, isIsolated: true)
                response.setCookie(cookies.endedSession)
                return response
            },
        ]
    }

    private func signInToAccount(_ request: Request) async throws -> Response {
        let browser = try cookies.browser(of: request) ?? .fresh()
        let flow = try await signIn.openAccountFlow(browser: browser, by: call(of: request))
        var response = redirect(to: FlowReference(id: flow.id, browser: browser).link(), flow: flow)
        response.setCookie(cookies.cookie(browser))
        return response
    }

    // MARK: Unlinking

    /// What a form or a link means to unlink.
    private enum Unlinking {
        case identity(IdentityID)
        case client(OAuthClientID)

        /// The question about it, which posts its answer there too: the form's token is good for this subject alone.
        var question: String {
            switch self {
            case .identity(let id): "\(WebAPI.unlinkPath)?identity=\(id)"
            case .client(let id): "\(WebAPI.unlinkPath)?client=\(PercentEncoding.encode(id.text))"
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
    }

    /// The page of the account asks, and only the question's own form unlinks.
    private func takeUnlinking(_ request: Request) async throws -> Response {
        let asked = Unlinking(try request.queryValues())
        let subject = try ownForm(
            of: request, action: asked?.question ?? Self.unlinkPath, secret: cookies.session(of: request)?.text,
            flow: ""
        ) { form in
            Unlinking(
                identity: form.optionalValue("identity", as: IdentityID.init),
                client: form.optionalValue("client", as: OAuthClientID.init))
        }
        if let asked { return try await unlink(asked, request) }
        guard let subject else {
            throw Problem(.invalidRequest, errors: [FieldError(field: "identity", reason: .required)])
        }
        return try await ask(about: subject, request)
    }

    /// The session in which something may be unlinked; `nil` where nobody is signed in.
    private func unlinkingSession(of request: Request) async throws -> (secret: WebSessionSecret, session: Session)? {
        guard let secret = cookies.session(of: request),
            let session = try await signIn.sessions.session(of: secret, by: call(of: request))
        else { return nil }
        guard session.isFresh(at: call(of: request).now) else { throw SignInFailure.reauthenticationRequired }
        return (secret, session)
    }

    private func ask(about subject: Unlinking, _ request: Request) async throws -> Response {
        guard let (secret, session) = try await unlinkingSession(of: request) else {
            return redirect(to: Self.accountPath)
        }
        let asked: UnlinkPage.Subject
        switch subject {
        case .identity(let id):
            let account = try await accounts.account(of: session)
            guard let identity = account.identities.first(where: { $0.id == id }) else {
                throw SignInFailure.identityNotFound
            }
            guard account.hasSignInMethod(besides: id) else {
                return try await refusedLastMethod(session, secret, request)
            }
            asked = .provider(
                id, identity.key.provider, email: identity.email?.text, opensSession: session.identityID == id)
        case .client(let id):
            guard let client = try await linkedClient(id, of: session) else { throw Problem(.notFound) }
            asked = .client(id.text, name: client.name)
        }
        let form = FormTarget(
            action: subject.question,
            csrf: try FormToken.text(secret: secret.text, flow: "", action: subject.question))
        let page = UnlinkPage(asked, form: form, cancelLink: Self.accountPath)
        return response(.unlink(page), to: request, isIsolated: true)
    }

    private func unlink(_ subject: Unlinking, _ request: Request) async throws -> Response {
        guard let (secret, session) = try await unlinkingSession(of: request) else {
            return redirect(to: Self.accountPath)
        }
        let notice: AccountPage.Notice?
        switch subject {
        case .identity(let id):
            let identities = try await accounts.account(of: session).identities
            let provider = identities.first { $0.id == id }?.key.provider
            do throws(SignInFailure) {
                try await accounts.unlink(id, of: session, by: call(of: request))
            } catch {
                guard case .lastSignInMethod = error else { throw error }
                return try await refusedLastMethod(session, secret, request)
            }
            // It may have ended with the identity that opened it.
            guard try await signIn.sessions.session(of: secret, by: call(of: request)) != nil else {
                let page = SignedOutPage(signInLink: Self.accountPath, unlinked: provider)
                var response = response(.signedOut(page), to: request, isIsolated: true)
                response.setCookie(cookies.endedSession)
                return response
            }
            notice = provider.map { .unlinkedProvider($0) }
        case .client(let id):
            let name = try await linkedClient(id, of: session)?.name
            _ = try await oauth?.unlink(id, of: session, by: call(of: request))
            notice = name.map { .unlinkedClient($0) }
        }
        let page = try await accountPage(session, secret, notice: notice)
        return response(.account(page), to: request, isIsolated: true)
    }

    private func linkedClient(_ id: OAuthClientID, of session: Session) async throws -> LinkedClient? {
        try await oauth?.linkedClients(of: session).first { $0.clientID == id }
    }

    private func refusedLastMethod(
        _ session: Session, _ secret: WebSessionSecret, _ request: Request
    ) async throws -> Response {
        let page = try await accountPage(session, secret, error: .lastSignInMethod)
        return response(.account(page), after: .lastSignInMethod, to: request, isIsolated: true)
    }

    // MARK: Pages

    private func accountPage(
        _ session: Session, _ secret: WebSessionSecret, notice: AccountPage.Notice? = nil, error: FormError? = nil
    ) async throws -> AccountPage {
        let account = try await accounts.account(of: session)
        let clients = (try await oauth?.linkedClients(of: session) ?? []).map { client in
            AccountPage.LinkedClient(
                id: client.clientID.text, name: client.name, linkedAt: client.linkedAt, lastUsedAt: client.lastUsedAt)
        }
        func target(_ action: String) throws -> FormTarget {
            FormTarget(action: action, csrf: try FormToken.text(secret: secret.text, flow: "", action: action))
        }
        return AccountPage(
            account: AccountTitle(account),
            hasPassword: account.hasPassword,
            providers: account.identities.map { identity in
                .init(
                    id: identity.id, provider: identity.key.provider, email: identity.email?.text,
                    linkedAt: identity.linkedAt, canBeUnlinked: account.hasSignInMethod(besides: identity.id))
            },
            clients: clients, unlink: try target(Self.unlinkPath), signOut: try target(Self.signOutPath),
            notice: notice,
            error: error)
    }
}
