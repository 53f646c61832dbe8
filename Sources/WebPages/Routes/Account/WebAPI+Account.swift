import Accounts
import HTTPServer
import OAuthServer
import SignIn

/// The page of a person's account, and what ends sessions of it.
extension WebAPI {
    /// The devices that the page lists.
    private static let listedDevices = 20

    var accountRoutes: [Route] {
        [
            Route(.get, AccountPath.account, priority: .reading) { request in
                guard !request.isSpeculative else { return untouched(request) }
                return try await visit(request, for: nil, isFresh: false) { visit in
                    let notice = try doneNotice(request, visit) ?? returnNotice(request)
                    let page = try await accountPage(visit, notice: notice, error: returnFault(request))
                    return response(account: page, to: request).setting(cookies.cookie(visit.browser))
                }
            },
            Route(.post, AccountPath.endDevice, priority: .revoking) { request in try await endDevice(request) },
            Route(.post, AccountPath.signOut, priority: .revoking) { request in try await signOut(request) },
            Route(.post, AccountPath.signOutEverywhere, priority: .revoking) { request in
                try await signOutEverywhere(request)
            },
            Route(.get, AccountPath.signedOut, priority: .reading) { request in try await showSignedOut(request) },
        ] + accountFormRoutes + accountWayRoutes + accountEndRoutes
    }

    // MARK: Sessions

    /// Ends the session that the browser has by now, if it has one. It may be another one than that of the page, where the
    /// person has signed in again in another tab.
    private func signOut(_ request: Request) async throws -> Response {
        try browserForm(of: request, AccountPath.signOut) { _ in }
        try await signIn.sessions.end(cookies.session(of: request), by: call(of: request))
        return signedOut(request)
    }

    /// Ends all sessions of the account that the page was of. Where that session is over, its person sees first which account
    /// is signed in by now, or signs in.
    private func signOutEverywhere(_ request: Request) async throws -> Response {
        let asked = try browserForm(of: request, AccountPath.signOutEverywhere) { form in form.subject()?.session }
        let account = redirect(to: AccountPath.account.naming(uiLocales(of: request)))
        let call = call(of: request)
        do throws(SignInFailure) {
            guard let session = try await signIn.sessions.session(of: cookies.session(of: request), by: call),
                session.id == asked
            else { return account }
            let place = try accounts.changes.begin(by: session)
            defer { withExtendedLifetime(place) {} }
            try await signIn.sessions.sessions.revoke(.all, of: session, by: call)
        } catch {
            guard case .invalidSession = error else { throw error }
            return account
        }
        return signedOut(request)
    }

    private func signedOut(_ request: Request) -> Response {
        redirect(to: AccountPath.signedOut.naming(uiLocales(of: request)), isIsolated: true)
            .setting(cookies.endedSession)
    }

    /// The same, for a reason that the page says. The session is over, so what it says is bound to the cookie of the browser.
    func signedOut(_ request: Request, because reason: SignedOutReason) throws -> Response {
        let browser = try cookies.browser(of: request) ?? .fresh()
        let link = try DoneLink.link(to: AccountPath.signedOut, saying: reason.word, secret: browser.text)
        return redirect(to: link.naming(uiLocales(of: request)), isIsolated: true)
            .setting(cookies.cookie(browser)).setting(cookies.endedSession)
    }

    private func showSignedOut(_ request: Request) async throws -> Response {
        guard !request.isSpeculative else { return untouched(request) }
        let account = AccountPath.account.naming(uiLocales(of: request))
        guard try await signIn.sessions.session(of: cookies.session(of: request), by: call(of: request)) == nil else {
            return redirect(to: account, isIsolated: true)
        }
        let word = try cookies.browser(of: request).flatMap { browser -> String? in
            let done = try request.queryValues().only("done")
            return try DoneLink.word(of: done, at: AccountPath.signedOut, secret: browser.text)
        }
        let page: any WebPage =
            switch word.flatMap(SignedOutReason.init(word:)) {
            case .unlinked(let provider): SignedOutPage(signInLink: account, unlinked: provider)
            case .accountDeleted: DeletedPage()
            case nil: SignedOutPage(signInLink: account)
            }
        return response(page, to: request, isIsolated: true)
    }

    private enum Ended {
        case one(SessionID)
        case others
    }

    private func endDevice(_ request: Request) async throws -> Response {
        let ended = try accountForm(of: request, AccountPath.endDevice) { form -> Ended? in
            let id = form.optionalValue("session", as: SessionID.init)
            let others = form.optionalString("others")
            return if let id { .one(id) } else { others == nil ? nil : .others }
        }
        guard let ended else { throw Problem(field: "session", .required) }
        return try await visit(request, for: nil, isFresh: false) { visit in
            let notice: AccountPage.Notice
            switch ended {
            case .one(let id):
                do throws(SignInFailure) {
                    try await signIn.sessions.sessions.end(id, in: visit.session, by: visit.call)
                } catch {
                    // It has ended by itself, or by the same button in another tab.
                    guard case .sessionNotFound = error else { throw error }
                }
                guard id != visit.session.id else { return signedOut(request) }
                notice = .deviceEnded
            case .others:
                try await signIn.sessions.sessions.revoke(.others, of: visit.session, by: visit.call)
                notice = .othersEnded
            }
            return try done(notice, visit)
        }
    }

    // MARK: The page

    private func doneNotice(_ request: Request, _ visit: AccountVisit) throws -> AccountPage.Notice? {
        let done = try request.queryValues().only("done")
        return try DoneLink.word(of: done, at: AccountPath.account, secret: visit.secret.text)
            .flatMap(AccountPage.Notice.init(word:))
    }

    /// What a way to a provider has come to: a redirect says it.
    private func returnNotice(_ request: Request) throws -> AccountPage.Notice? {
        try request.queryValues().only("linked").flatMap(Provider.init).map { .linkedProvider($0) }
    }

    private func returnFault(_ request: Request) throws -> FormError? {
        try request.queryValues().only("fault").flatMap(FormError.init(ofLinking:))
    }

    /// Its forms for signing out are good for the browser: who answers with it sets ``AccountVisit/browser``.
    func accountPage(
        _ visit: AccountVisit, notice: AccountPage.Notice? = nil, error: FormError? = nil
    ) async throws -> AccountPage {
        // A child task would copy all of `self` for one of its values.
        let sessions = signIn.sessions.sessions
        async let sessionsRead = sessions.list(of: visit.session.accountID, askedBy: visit.session.id, by: visit.call)
        let clients = try await linkedClients(of: visit)
        let (account, devices) = (visit.account, try await sessionsRead)
        let linked = account.providers
        var shown = notice
        if case .linkedProvider(let provider) = notice, !linked.contains(provider) { shown = nil }
        return AccountPage(
            displayName: account.displayName?.text,
            address: account.email.map { .init(text: $0.text, isConfirmed: account.emailProof == .proven) },
            addressTakenAt: account.emailTakenAt,
            replacement: try account.emailReplacement.map { try replacement($0, visit) },
            canChangeAddress: signIn.configuration.offersEmailCode,
            password: account.hasPassword ? .isSet : account.email == nil ? .isImpossible : .isNotSet,
            providers: account.identities.map { identity in
                .init(
                    id: identity.id, provider: identity.key.provider, email: identity.email?.text,
                    linkedAt: identity.linkedAt, canBeUnlinked: account.hasSignInMethod(besides: identity.id),
                    isBlocked: identity.isBlocked, wantsNewPassword: identity.credentialChangeRequiredAt != nil)
            },
            linkable: try signIn.configuration.providers.filter { !linked.contains($0) }.map { provider in
                (provider, try visit.target(AccountPath.link(provider)))
            },
            devices: devices.prefix(Self.listedDevices).map { .init($0, isThisOne: $0.id == visit.session.id) },
            furtherDevices: max(0, devices.count - Self.listedDevices),
            clients: clients.map { client in
                .init(
                    id: client.clientID.text, name: client.name, linkedAt: client.linkedAt,
                    lastUsedAt: client.lastUsedAt, isDisabled: client.isDisabled)
            },
            unlink: try visit.target(AccountPath.unlink), endDevice: try visit.target(AccountPath.endDevice),
            signOut: try visit.browserTarget(AccountPath.signOut),
            signOutEverywhere: try visit.browserTarget(
                AccountPath.signOutEverywhere, about: .session(visit.session.id)),
            query: "".naming(visit.languages), notice: shown, error: error)
    }

    private func replacement(
        _ replacement: Account.Replacement, _ visit: AccountVisit
    ) throws -> AccountPage.Replacement {
        AccountPage.Replacement(
            email: replacement.email.masked, dueAt: replacement.dueAt, keep: try visit.target(AccountPath.keepAddress))
    }

    func linkedClients(of visit: AccountVisit) async throws -> [LinkedClient] {
        try await oauth?.linkedClients(of: visit.session, by: visit.call) ?? []
    }
}

extension AccountPage.Device {
    fileprivate init(_ session: SessionSummary, isThisOne: Bool) {
        let platform = session.device?.platform
        let isBrowser = platform == Device.browserPlatform
        self.init(
            id: session.id, name: session.device?.name ?? (isBrowser ? nil : platform), isBrowser: isBrowser,
            isThisOne: isThisOne, lastUsedAt: session.lastUsedAt)
    }
}
