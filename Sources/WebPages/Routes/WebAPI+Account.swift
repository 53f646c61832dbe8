import Accounts
import HTTPAPI
import HTTPServer
import OAuthServer
import SignIn

/// The page on which a person sees what is linked to their account, and unlinks it.
extension WebAPI {
    private static let unlinkPath = "/web/account/unlink"
    private static let signOutPath = "/web/sign-out"

    var accountRoutes: [Route] {
        [
            Route(.get, "/web/account", priority: .reading) { request in
                guard !request.isSpeculative else { return untouched }
                // Somebody else at this browser is not to see or change what is here.
                guard let secret = cookies.session(of: request),
                    let session = try await signIn.sessions.session(of: secret), session.isFresh(at: clock.now())
                else { return try await signInToAccount(request) }
                return response(
                    .account(try await accountPage(session, secret)), to: request, isIsolated: true)
            },
            Route(.post, Self.unlinkPath, priority: .revoking) { request in try await unlink(request) },
            Route(.post, Self.signOutPath, priority: .revoking) { request in
                let secret = cookies.session(of: request)
                try ownForm(of: request, action: Self.signOutPath, secret: secret?.text, flow: "") { _ in }
                try await signIn.sessions.end(secret, client: request.caller(device: nil))
                var response = response(
                    .signedOut(SignedOutPage(signInLink: "/web/account")), to: request, isIsolated: true)
                response.setCookie(cookies.endedSession)
                return response
            },
        ]
    }

    private func signInToAccount(_ request: Request) async throws -> Response {
        let browser = try cookies.browser(of: request) ?? .fresh()
        let flow = try await signIn.openAccountFlow(browser: browser, client: request.caller(device: nil))
        var response = redirect(to: FlowReference(id: flow.id, browser: browser).link(), flow: flow)
        response.setCookie(cookies.cookie(browser))
        return response
    }

    private func unlink(_ request: Request) async throws -> Response {
        let secret = cookies.session(of: request)
        let (identityID, clientID) = try ownForm(
            of: request, action: Self.unlinkPath, secret: secret?.text, flow: ""
        ) { form in
            (
                form.optionalValue("identity", as: IdentityID.init),
                form.optionalValue("client", as: OAuthClientID.init)
            )
        }
        if let clientID { return try await unlink(clientID, secret, request) }
        guard let identityID else {
            throw Problem(.invalidRequest, errors: [FieldError(field: "identity", reason: .required)])
        }
        guard let secret, let session = try await signIn.sessions.session(of: secret) else {
            return redirect(to: "/web/account")
        }
        let provider = try await accounts.account(of: session).identities.first { $0.id == identityID }?.key.provider
        do throws(SignInFailure) {
            try await accounts.unlink(identityID, of: session, client: request.caller(device: nil))
        } catch {
            guard case .lastSignInMethod = error else { throw error }
            let page = try await accountPage(session, secret, error: .lastSignInMethod)
            return response(.account(page), after: error, to: request, isIsolated: true)
        }
        // It may have ended with the identity that opened it.
        guard try await signIn.sessions.session(of: secret) != nil else { return redirect(to: "/web/account") }
        let page = try await accountPage(session, secret, notice: provider.map { .unlinkedProvider($0) })
        return response(.account(page), to: request, isIsolated: true)
    }

    private func unlink(
        _ id: OAuthClientID, _ secret: WebSessionSecret?, _ request: Request
    ) async throws -> Response {
        guard let secret, let session = try await signIn.sessions.session(of: secret) else {
            return redirect(to: "/web/account")
        }
        guard session.isFresh(at: clock.now()) else { throw SignInFailure.reauthenticationRequired }
        let name = try await oauth?.linkedClients(of: session).first { $0.clientID == id }?.name
        _ = try await oauth?.unlink(id, of: session, client: request.caller(device: nil))
        let page = try await accountPage(session, secret, notice: name.map { .unlinkedClient($0) })
        return response(.account(page), to: request, isIsolated: true)
    }

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
            account: AccountTitle(displayName: account.displayName?.text, email: account.email?.text),
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
