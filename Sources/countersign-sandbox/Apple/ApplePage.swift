import Hummingbird

/// Apple's authorization page and the credential of its SDK.
extension Apple {
    static func asked(_ request: Request, _ provider: Provider<Apple>) throws(BrowserRefusal) -> AppleBrowserRequest {
        try AppleBrowserRequest(request.uri.query ?? "", provider.accounts.registry)
    }

    /// The choices of a first consent; later ones have none.
    static func consentFields(
        _ asked: AppleBrowserRequest, _ person: ApplePerson, _ provider: Provider<Apple>
    ) -> HTML {
        guard !provider.accounts.isConsented(person.name, clientID: asked.clientID) else {
            return "<p>The client knows this person already and gets neither name nor address again.</p>"
        }
        let name: HTML = """
            <label>First name <input name="givenName" autocomplete="given-name" value="\(person.givenName ?? "")"></label>
            <label>Last name <input name="familyName" autocomplete="family-name" value="\(person.familyName ?? "")"></label>
            """
        let hidden: HTML? = person.hidesEmail ? " checked" : nil
        let shared: HTML? = person.hidesEmail ? nil : " checked"
        let address: HTML = """
            <fieldset>
            <legend>Email</legend>
            <label><input type="radio" name="hideEmail" value="false"\(shared)> Share My Email</label>
            <label><input type="radio" name="hideEmail" value="true"\(hidden)> Hide My Email</label>
            </fieldset>
            """
        return """
            \(asked.scopes.contains(.fullName) ? name : nil)
            \(asked.scopes.contains(.email) ? address : nil)
            """
    }

    static func refused(
        _ asked: AppleBrowserRequest, _ error: String, _ provider: Provider<Apple>
    ) -> KeyValuePairs<String, String?> {
        ["state": asked.state, "error": error]
    }

    static func answer(
        _ asked: AppleBrowserRequest, _ person: ApplePerson, _ choice: BrowserChoice, _ alteration: BrowserAlteration,
        _ provider: Provider<Apple>
    ) async throws -> KeyValuePairs<String, String?> {
        let hides = asked.scopes.contains(.email) ? choice.hidesEmail ?? person.hidesEmail : nil
        let (granted, token) = try await provider.authorize(
            AuthorizationRequest(asked, person: person.name, Options(hidesEmail: hides), alteration))
        // JSON that nothing signs, at a first consent.
        var user: JSONObject = [:]
        if asked.scopes.contains(.fullName) {
            let name: JSONObject = [
                "firstName": choice.givenName ?? person.givenName, "lastName": choice.familyName ?? person.familyName,
            ]
            user.set("name", name)
        }
        if asked.scopes.contains(.email) { user.set("email", granted.identity.email) }
        return [
            "state": asked.state, "code": granted.code, "id_token": asked.wantsToken ? token : nil,
            "user": granted.identity.isFirst && !asked.scopes.isEmpty ? user.text : nil,
        ]
    }

    static func claims(
        of granted: ProviderAccounts<Apple>.Granted, _ period: TokenPeriod, _ provider: Provider<Apple>
    ) -> JSONObject {
        let identity = granted.identity
        return identity.claims(
            issuer: provider.issuer, audience: identity.request.tokenAudience, subject: granted.subject(provider),
            authenticatedAt: period.issued, period: period, hash: ("c_hash", of: granted.code), seed: provider.seed)
    }

    // MARK: Controls

    static func json(_ person: ApplePerson, _ provider: Provider<Apple>) -> JSONObject {
        let registry = provider.accounts.registry
        let ids = Set(registry.clients.map(registry.team)).union(person.subjects.keys).union([AppleRegistry.defaultTeam]
        )
        var teams: JSONObject = [:]
        for team in ids.sorted() {
            let known: JSONObject = [
                "subject": person.subject(team: team, seed: provider.seed),
                "email": person.address(team: team, seed: provider.seed),
            ]
            teams.set(team, known)
        }
        return [
            "name": person.name, "email": person.email, "hidesEmail": person.hidesEmail,
            "emailVerified": person.emailVerified, "managed": person.isManaged, "givenName": person.givenName,
            "familyName": person.familyName, "realUserStatus": person.realUserStatus, "teams": teams,
        ]
    }

    /// The contents of `ASAuthorizationAppleIDCredential`. Address, name and status come with the first authorization
    /// only, as in the SDK.
    static func json(
        _ granted: ProviderAccounts<Apple>.Granted, token: String, _ provider: Provider<Apple>
    ) -> JSONObject {
        let identity = granted.identity
        let person = identity.person
        let isNamed = identity.isFirst && identity.request.scopes.contains(.fullName)
        let fullName: JSONObject? =
            isNamed && person.displayName != nil
            ? ["givenName": person.givenName, "familyName": person.familyName] : nil
        return [
            "user": granted.subject(provider).text, "identityToken": token,
            "authorizationCode": granted.code, "email": identity.isFirst ? identity.email : nil,
            "fullName": fullName, "realUserStatus": identity.hasRealUserStatus ? person.realUserStatus : nil,
        ]
    }
}

extension ProviderAccounts<Apple>.Granted {
    /// The subject at the time of the authorization.
    fileprivate func subject(_ provider: Provider<Apple>) -> AppleSubject {
        provider.accounts.registry.subject(
            of: identity.person, in: identity.request.clientID, seed: provider.seed, at: identity.authorizedAt)
    }
}

extension AppleRegistry {
    func json(_ clientID: String) -> JSONObject {
        ["clientId": clientID, "teamId": team(of: clientID), "redirectUris": redirectURIs(of: clientID)]
    }
}
