import Hummingbird

/// Google's authorization page and the result of its SDK.
extension Google {
    static func asked(_ request: Request, _ provider: Provider<Google>) throws(BrowserRefusal) -> GoogleBrowserRequest {
        guard !isWebView(request.headers[.userAgent] ?? "") else {
            throw refusal(.disallowedUserAgent, "Google does not open in a WebView.")
        }
        let asked = try GoogleBrowserRequest(request.uri.query ?? "", provider.accounts.registry)
        guard request.method == .get || !asked.prompts.contains(.none) else {
            throw refusal(.invalidRequest, "prompt=none has no page, so no form either.")
        }
        return asked
    }

    /// Android's WebView says `; wv)`; WKWebView lacks the `Safari/` that browsers on iOS have.
    private static func isWebView(_ userAgent: String) -> Bool {
        userAgent.contains("; wv)")
            || userAgent.contains("AppleWebKit/") && userAgent.contains(" Mobile/") && !userAgent.contains(" Safari/")
    }

    private static func refusal(_ code: OAuthError, _ reason: String) -> BrowserRefusal {
        BrowserRefusal(provider: .google, code: code, reason: reason)
    }

    /// With `prompt=none` (OpenID Connect Core §3.1.2.6) there is no session here, so only a waiting choice or a hint
    /// says who it is.
    static func outcome(
        _ asked: GoogleBrowserRequest, _ waiting: BrowserChoice?, _ provider: Provider<Google>
    ) -> BrowserOutcome? {
        guard asked.prompts.contains(.none), waiting?.action != .cancel else {
            return waiting.map(BrowserOutcome.choice)
        }
        let hinted = provider.accounts.persons.first { $0.suits(asked.loginHint, seed: provider.seed) }?.name
        guard let name = waiting?.person ?? hinted else { return .error("login_required") }
        guard !needsConsentPage(asked, person: name, provider) else { return .error("consent_required") }
        return .choice(waiting ?? BrowserChoice(person: name))
    }

    /// Those first that the request's hints mean.
    static func listed(_ persons: [GooglePerson], _ asked: GoogleBrowserRequest, seed: Seed) -> [GooglePerson] {
        let suiting = persons.filter { person in
            let domain = person.hostedDomain
            return person.suits(asked.loginHint, seed: seed)
                || domain != nil && (asked.hostedDomain == "*" || asked.hostedDomain == domain)
        }
        return suiting + persons.filter { person in !suiting.contains { $0.name == person.name } }
    }

    static func admit(
        _ person: GooglePerson, _ asked: GoogleBrowserRequest, _ provider: Provider<Google>
    ) throws(BrowserRefusal) {
        if let domain = provider.accounts.registry.client(asked.clientID)?.internalTo, person.hostedDomain != domain {
            throw refusal(.orgInternal, "This client can only be used within \(domain).")
        }
    }

    /// Before the first consent, and whenever the client wants it.
    static func needsConsentPage(_ asked: GoogleBrowserRequest, person: String?, _ provider: Provider<Google>) -> Bool {
        asked.prompts.contains(.consent) || !provider.accounts.isConsented(person ?? "", clientID: asked.clientID)
    }

    static func consentFields(
        _ asked: GoogleBrowserRequest, _ person: GooglePerson, _ provider: Provider<Google>
    ) -> HTML {
        let email: HTML = "<li>the address \(person.email ?? "–")</li>"
        let name: HTML = "<li>the name \(person.displayName ?? "–"), and the picture</li>"
        return """
            <p>The client gets:</p>
            <ul>
            <li>the subject of this account</li>
            \(asked.scopes.contains(.email) ? email : nil)
            \(asked.scopes.contains(.profile) ? name : nil)
            </ul>
            """
    }

    static func refused(
        _ asked: GoogleBrowserRequest, _ error: String, _ provider: Provider<Google>
    ) -> KeyValuePairs<String, String?> {
        ["error": error, "state": asked.state, "iss": provider.issuer]
    }

    static func answer(
        _ asked: GoogleBrowserRequest, _ person: GooglePerson, _ choice: BrowserChoice,
        _ alteration: BrowserAlteration, _ provider: Provider<Google>
    ) async throws -> KeyValuePairs<String, String?> {
        let needsConsent = needsConsentPage(asked, person: person.name, provider)
        let options = Options(
            authorizedParty: asked.clientID, forcesConsent: asked.prompts.contains(.consent),
            isOffline: asked.isOffline, challenge: asked.challenge)
        let (granted, _) = try await provider.authorize(
            AuthorizationRequest(asked, person: person.name, options, alteration))
        return [
            "state": asked.state, "iss": provider.issuer, "code": granted.code,
            "scope": grantedScopes(asked.scopes), "authuser": "0", "hd": person.hostedDomain,
            "prompt": needsConsent ? "consent" : "none",
        ]
    }

    static func claims(
        of granted: ProviderAccounts<Google>.Granted, _ period: TokenPeriod, _ provider: Provider<Google>
    ) -> JSONObject {
        let request = granted.identity.request
        return granted.identity.claims(
            issuer: provider.issuer, audience: request.tokenAudience, authorizedParty: request.options.authorizedParty,
            nonce: request.nonce, accessToken: granted.accessToken ?? "", period: period, seed: provider.seed)
    }

    // MARK: Controls

    static func json(_ person: GooglePerson, _ provider: Provider<Google>) -> JSONObject {
        [
            "name": person.name, "subject": person.subject(seed: provider.seed), "email": person.email,
            "emailVerified": person.emailVerified, "hostedDomain": person.hostedDomain, "givenName": person.givenName,
            "familyName": person.familyName, "picture": person.picture,
        ]
    }

    /// What `GIDSignInResult` or the Credential Manager returns.
    static func json(
        _ granted: ProviderAccounts<Google>.Granted, token: String, _ provider: Provider<Google>
    ) -> JSONObject {
        let identity = granted.identity
        return [
            "userId": identity.person.subject(seed: provider.seed), "idToken": token,
            "serverAuthCode": granted.code, "accessToken": granted.accessToken, "email": identity.email,
            "name": identity.name,
        ]
    }
}

extension GooglePerson {
    /// Whether a `login_hint` is the person's address or subject.
    fileprivate func suits(_ hint: String?, seed: Seed) -> Bool {
        guard let hint else { return false }
        return hint == subject(seed: seed) || hint.lowercased() == email?.lowercased()
    }
}
