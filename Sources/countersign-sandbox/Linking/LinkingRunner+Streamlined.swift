import JSON

/// Streamlined linking: Google asks by an assertion about a person who has consented there.
extension LinkingRunner {
    private static let lifetime: Int64 = 3600

    /// Asks in Google's order: `check`, then `get` or `create`, and checks each answer.
    ///
    /// - Parameters:
    ///   - name: the person, as the control API knows them.
    ///   - isNew: whether an account may be made for a person whom the service doesn't know.
    func runStreamlined(_ name: String, isNew: Bool) async throws {
        let client = try client()
        let person = try google.accounts.person(name)
        guard client.settings.audience != nil else {
            throw ControlRefusal.conflict("There is no audience, to which assertions are addressed.")
        }
        func ask(_ intent: String, _ changes: TokenOverrides = .none) async throws -> LinkingAnswer {
            let assertion = try await assertion(person, for: client.settings, changes)
            return await client.token(
                [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("intent", intent),
                    ("assertion", assertion),
                ] + (client.settings.scope.map { [("scope", $0)] } ?? []))
        }
        var findings = LinkingFindings(way: .streamlined)
        let found = try await ask("check")
        findings.note(.check, found.isAccount(true) || found.isAccount(false), found.summary)
        var tokens: LinkingAnswer?
        let got = try await ask("get")
        if found.isAccount(true) {
            findings.note(.get, got.status == 200, got.summary)
            let created = try await ask("create")
            findings.note(.create, created.isRefused(401, "linking_error"), created.summary)
            tokens = got.status == 200 ? got : nil
        } else {
            let hint = got.text("login_hint")
            findings.note(
                .get, got.isRefused(401, "linking_error") && hint?.lowercased() == person.email?.lowercased(),
                "\(got.summary)\(hint == nil ? ", no login_hint" : "")")
            if isNew {
                let created = try await ask("create")
                let after = try await ask("check")
                let isMade = created.status == 200
                findings.note(
                    .create, isMade ? after.isAccount(true) : created.isRefused(401, "linking_error"),
                    "\(created.summary); check \(after.summary)")
                tokens = isMade ? created : nil
            }
        }
        for (check, changes) in try Self.refused(client.settings) {
            let refusal = try await ask("get", changes)
            findings.note(check, refusal.isRefused(400, "invalid_grant"), refusal.summary)
        }
        let unknown = try await ask("guess")
        findings.note(.unknownIntent, unknown.isRefused(400, "invalid_request"), unknown.summary)
        linking.add(findings)
        if let tokens { await take(tokens, nil, .streamlined, client) }
    }

    /// Assertions that Google would not have made.
    private static func refused(_ settings: LinkingSettings) throws -> [(LinkingCheck, TokenOverrides)] {
        func claim(_ name: String, _ value: String) throws -> TokenOverrides {
            let claim: JSONObject = [name: value]
            var changes = TokenOverrides()
            changes.claims = try JSONValue(parsing: claim.bytes).members ?? []
            return changes
        }
        var (expired, forged, unsigned) = (TokenOverrides(), TokenOverrides(), TokenOverrides())
        expired.isExpired = true
        forged.signature = .forged
        unsigned.algorithm = "none"
        return [
            // The service's own client ID, which an assertion is never addressed to.
            (.assertionAudience, try claim("aud", settings.clientID)),
            (.assertionIssuer, try claim("iss", "https://accounts.example.com")), (.assertionExpired, expired),
            (.assertionForged, forged), (.assertionUnsigned, unsigned),
        ]
    }

    private func assertion(
        _ person: GooglePerson, for settings: LinkingSettings, _ changes: TokenOverrides
    ) async throws -> String {
        let period = changes.period(at: google.clock.now, lifetime: Self.lifetime)
        var claims: JSONObject = [
            "iss": google.issuer, "aud": settings.audience, "sub": person.subject(seed: google.seed),
            "hd": person.hostedDomain, "email": person.email,
            "email_verified": person.email == nil ? nil : person.emailVerified,
        ]
        claims.set(person.profile)
        claims.set(["iat": period.issued, "exp": period.expires])
        return try await google.mint.mint(claims, overrides: changes)
    }
}

extension LinkingAnswer {
    /// Whether this answers `check` so: the member is a string.
    fileprivate func isAccount(_ isFound: Bool) -> Bool {
        status == (isFound ? 200 : 404) && text("account_found") == (isFound ? "true" : "false")
    }
}
