import Hummingbird

/// Google's authorization page, `/o/oauth2/v2/auth`, and what its form leads to.
struct GoogleBrowser: Sendable {
    let accounts: GoogleAccounts
    let authorizer: GoogleAuthorizer
    let plan: BrowserPlan
    let faults: FaultPlan
    let history: RequestHistory

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("o/oauth2/v2/auth") { request, context in try await open(request, context) }
        group.post("o/oauth2/v2/auth") { request, context in try await choose(request, context) }
    }

    private func open(_ request: Request, _ context: SandboxContext) async throws -> Response {
        let asked = try checked(request)
        let choice = plan.nextChoice(for: asked.clientID)
        if asked.prompts.contains(.none) { return try await answerSilently(asked, choice, request, context) }
        if let choice { return try await answer(asked, choice, request, context) }
        return BrowserPage.chooser(
            .google, clientID: asked.clientID, action: request.pageAddress,
            persons: accounts.persons(suiting: asked).map(Self.listed)
        ).response()
    }

    private func choose(_ request: Request, _ context: SandboxContext) async throws -> Response {
        let asked = try checked(request)
        guard !asked.prompts.contains(.none) else {
            throw Self.refusal(.invalidRequest, "prompt=none has no page, so no form either.")
        }
        let form: EndpointForm
        do {
            form = try await EndpointForm(request)
        } catch let fault as EndpointForm.Fault {
            throw BrowserRefusal(.google, fault)
        }
        let choice = try BrowserChoice(form, at: .google)
        guard choice.action == nil, needsConsent(asked, choice.person) else {
            return try await answer(asked, choice, request, context)
        }
        let person = try person(choice.person, asked)
        let email: HTML = "<li>the address \(person.email ?? "–")</li>"
        let name: HTML = "<li>the name \(person.displayName ?? "–"), and the picture</li>"
        return BrowserPage.consent(
            .google, clientID: asked.clientID, action: request.pageAddress, person: Self.listed(person),
            fields: """
                <p>The client gets:</p>
                <ul>
                <li>the subject of this account</li>
                \(asked.scopes.contains(.email) ? email : nil)
                \(asked.scopes.contains(.profile) ? name : nil)
                </ul>
                """
        ).response()
    }

    private func checked(_ request: Request) throws(BrowserRefusal) -> GoogleBrowserRequest {
        guard !Self.isWebView(request.headers[.userAgent] ?? "") else {
            throw Self.refusal(.disallowedUserAgent, "Google does not open in a WebView.")
        }
        return try GoogleBrowserRequest(request.uri.query ?? "", accounts: accounts)
    }

    /// Android's WebView says `; wv)`; WKWebView lacks the `Safari/` that browsers on iOS have.
    private static func isWebView(_ userAgent: String) -> Bool {
        userAgent.contains("; wv)")
            || userAgent.contains("AppleWebKit/") && userAgent.contains(" Mobile/") && !userAgent.contains(" Safari/")
    }

    private func person(_ name: String?, _ asked: GoogleBrowserRequest) throws(BrowserRefusal) -> GooglePerson {
        let name = name ?? ""
        let person: GooglePerson
        do {
            person = try accounts.person(name)
        } catch {
            throw Self.refusal(.invalidRequest, "There is no person \(name).")
        }
        if let domain = accounts.client(asked.clientID)?.internalTo, person.hostedDomain != domain {
            throw Self.refusal(.orgInternal, "This client can only be used within \(domain).")
        }
        return person
    }

    private static func listed(_ person: GooglePerson) -> BrowserPage.Person {
        BrowserPage.Person(name: person.name, displayName: person.displayName, email: person.email)
    }

    private static func refusal(_ code: BrowserRefusal.Code, _ reason: String) -> BrowserRefusal {
        BrowserRefusal(provider: .google, code: code, reason: reason)
    }

    /// Whether a page asks this person: before the first consent, and whenever the client wants it.
    private func needsConsent(_ asked: GoogleBrowserRequest, _ person: String?) -> Bool {
        asked.prompts.contains(.consent) || !accounts.isConsented(person ?? "", clientID: asked.clientID)
    }

    // MARK: The answer

    private func answer(
        _ asked: GoogleBrowserRequest, _ choice: BrowserChoice, _ request: Request, _ context: SandboxContext
    ) async throws -> Response {
        guard choice.action != .cancel else {
            return try await answer(asked, error: "access_denied", request, context)
        }
        let person = try person(choice.person, asked)
        let needsConsent = needsConsent(asked, person.name)
        let alteration = try await faults.nextAlteration(of: request, context, history: history)
        let result = try await authorizer.authorize(
            GoogleAuthorization(
                person: person.name, clientID: asked.clientID, nonce: asked.nonce, scopes: asked.scopes,
                forcesConsent: asked.prompts.contains(.consent),
                webRequest: GoogleIdentity.WebRequest(
                    redirectURI: asked.redirectURI, challenge: asked.challenge, isOffline: asked.isOffline),
                exchange: alteration.exchange))
        var answer = BrowserAnswer(at: .google, to: asked.redirectURI, as: .query)
        answer.append("state", asked.state)
        answer.append("iss", authorizer.issuer)
        answer.append("code", result.serverAuthCode)
        answer.append("scope", GoogleIdentity.grantedScopes(asked.scopes))
        answer.append("authuser", "0")
        answer.append("hd", person.hostedDomain)
        answer.append("prompt", needsConsent ? "consent" : "none")
        answer.apply(alteration)
        return answer.response(sendsForm: false)
    }

    /// The answer to `prompt=none` (OpenID Connect Core §3.1.2.6): nobody has a session here, so only a waiting choice
    /// or a hint says who it is.
    private func answerSilently(
        _ asked: GoogleBrowserRequest, _ choice: BrowserChoice?, _ request: Request, _ context: SandboxContext
    ) async throws -> Response {
        if let choice, choice.action == .cancel { return try await answer(asked, choice, request, context) }
        let hinted = accounts.persons.first { $0.suits(asked.loginHint, seed: accounts.seed) }?.name
        guard let name = choice?.person ?? hinted else {
            return try await answer(asked, error: "login_required", request, context)
        }
        guard !needsConsent(asked, name) else {
            return try await answer(asked, error: "consent_required", request, context)
        }
        return try await answer(asked, choice ?? BrowserChoice(person: name), request, context)
    }

    private func answer(
        _ asked: GoogleBrowserRequest, error: String, _ request: Request, _ context: SandboxContext
    ) async throws -> Response {
        let alteration = try await faults.nextAlteration(of: request, context, history: history)
        var answer = BrowserAnswer(at: .google, to: asked.redirectURI, as: .query)
        answer.append("error", error)
        answer.append("state", asked.state)
        answer.append("iss", authorizer.issuer)
        answer.apply(alteration)
        return answer.response(sendsForm: false)
    }
}

extension GoogleAccounts {
    /// All persons, those first that the request's hints mean.
    fileprivate func persons(suiting asked: GoogleBrowserRequest) -> [GooglePerson] {
        let persons = persons
        let suiting = persons.filter { person in
            let domain = person.hostedDomain
            return person.suits(asked.loginHint, seed: seed)
                || domain != nil && (asked.hostedDomain == "*" || asked.hostedDomain == domain)
        }
        return suiting + persons.filter { person in !suiting.contains { $0.name == person.name } }
    }
}

extension GooglePerson {
    /// Whether a `login_hint` is the person's address or subject.
    fileprivate func suits(_ hint: String?, seed: Seed) -> Bool {
        guard let hint else { return false }
        return hint == subject(seed: seed) || hint.lowercased() == email?.lowercased()
    }
}
