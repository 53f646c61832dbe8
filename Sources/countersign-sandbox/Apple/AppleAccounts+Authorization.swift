import Synchronization

/// A person's consent, the codes and tokens issued for it, and its end.
extension AppleAccounts {
    /// A recorded authorization: what tokens may state, the subject, and the code.
    struct Authorization: Sendable {
        let identity: AppleIdentity
        let subject: AppleSubject
        let code: String
    }

    /// The result of a code exchange.
    struct Exchanged: Sendable {
        let identity: AppleIdentity
        let subject: AppleSubject
        let accessToken: String
        let refreshToken: String?
    }

    /// Seconds: five minutes.
    static let codeLifetime: Int64 = 300
    /// Seconds: one hour.
    static let accessLifetime: Int64 = 3600

    /// Records the consent of a person who taps "Continue" in this client.
    func authorize(_ request: AppleAuthorization, at now: Int64) throws(ControlRefusal) -> Authorization {
        try state.withLock { state throws(ControlRefusal) in
            guard var person = state.persons[request.person] else { throw Self.personNotFound(request.person) }
            let pair = Ledger.Pair(person: person.name, clientID: request.clientID)
            let subject = state.subject(of: person, in: request.clientID, seed: seed, at: now)
            let isFirst = !state.ledger.isConsented(pair)
            if isFirst, let hides = request.hidesEmail {
                person.choose(toHide: hides, from: subject.team)
                state.persons[person.name] = person
            }
            let includesEmail = request.scopes.contains(.email) && (isFirst || request.repeatsEmail)
            let identity = AppleIdentity(
                person: person, clientID: request.clientID, nonce: request.nonce, redirectURI: request.redirectURI,
                email: includesEmail ? person.address(team: subject.team, seed: seed) : nil, isFirst: isFirst,
                authorizedAt: now, exchange: request.exchange)
            state.authorizations += 1
            let code = opaque("c", "code", String(state.authorizations))
            state.ledger.authorize(pair, identity, code: code, at: now)
            return Authorization(identity: identity, subject: subject, code: code)
        }
    }

    func isConsented(_ name: String, clientID: String) -> Bool {
        state.withLock { $0.ledger.isConsented(Ledger.Pair(person: name, clientID: clientID)) }
    }

    /// Ends the consent of a person who taps "Stop using Apple ID" for this client: the next authorization is a first
    /// one again.
    func withdraw(_ name: String, clientID: String, at now: Int64) throws(ControlRefusal) {
        let pair = Ledger.Pair(person: name, clientID: clientID)
        try state.withLock { state throws(ControlRefusal) in
            guard state.ledger.isConsented(pair) else { throw .notFound("\(name) has not authorized \(clientID).") }
            state.ledger.end(pair, by: .withdraw, at: now)
        }
    }

    /// Redeems a code. A refused code is unchanged.
    func exchange(
        _ code: String, clientID: String, redirectURI: String?, at now: Int64
    ) throws(EndpointRefusal) -> Exchanged {
        try state.withLock { state throws(EndpointRefusal) in
            let found: (pair: Ledger.Pair, identity: AppleIdentity)
            do throws(Ledger.CodeFault) {
                found = try state.ledger.code(code, of: clientID, lifetime: Self.codeLifetime, at: now)
            } catch {
                throw .apple(.invalidGrant, "code: \(error)")
            }
            switch (found.identity.redirectURI, redirectURI) {
            case (.none, .none): break
            case (.some, .none): throw .apple(.invalidRequest, "redirect_uri is missing")
            case (.none, .some): throw .apple(.invalidClient, "redirect_uri: the authorization had none")
            case (.some(let authorized), .some(let sent)):
                guard authorized == sent else { throw .apple(.invalidClient, "redirect_uri is another one") }
            }
            state.ledger.spend(code)
            let accessToken = opaque("a", "access", code)
            state.ledger.issue(accessToken: accessToken, to: found.pair, until: now + Self.accessLifetime)
            let refreshToken = found.identity.exchange.omitsRefreshToken ? nil : opaque("r", "refresh", code)
            if let refreshToken { state.ledger.issue(refreshToken: refreshToken, to: found.pair, at: now) }
            return Exchanged(
                identity: found.identity,
                subject: state.subject(of: found.identity.person, in: clientID, seed: seed, at: now),
                accessToken: accessToken, refreshToken: refreshToken)
        }
    }

    /// Answers a refresh with a new access token.
    func refresh(_ refreshToken: String, clientID: String, at now: Int64) throws(EndpointRefusal) -> String {
        try state.withLock { state throws(EndpointRefusal) in
            guard let token = state.ledger.token(refreshToken, at: now), token.kind == .refresh else {
                throw .apple(.invalidGrant, "refresh_token: unknown")
            }
            guard token.pair.clientID == clientID else { throw .apple(.invalidGrant, "refresh_token: foreign") }
            guard token.isLive else { throw .apple(.invalidGrant, "refresh_token: ended") }
            let count = state.ledger.check(refreshToken, at: now)
            let accessToken = opaque("a", "access", refreshToken, String(count))
            state.ledger.issue(accessToken: accessToken, to: token.pair, until: now + Self.accessLifetime)
            return accessToken
        }
    }

    /// Ends the whole authorization that the token belongs to. A token that is unknown, dead or another client's ends
    /// nothing and is not an error.
    func revoke(_ text: String, hint: String?, clientID: String, at now: Int64) throws(EndpointRefusal) {
        try state.withLock { state throws(EndpointRefusal) in
            guard let token = state.ledger.token(text, at: now), token.pair.clientID == clientID else { return }
            guard hint == nil || hint == token.kind.rawValue else {
                throw .apple(.invalidRequest, "token_type_hint is wrong")
            }
            if token.kind == .refresh { state.ledger.noteRevocation(of: text) }
            if token.isLive { state.ledger.end(token.pair, by: .revoke, at: now) }
        }
    }

    /// Issues the bearer token with which a team migrates the users of a client.
    func issueMigrationToken(clientID: String, team: String, at now: Int64) -> String {
        state.withLock { state in
            let token = opaque("a", "migration", clientID, team, String(state.migrationTokens.count))
            state.migrationTokens[token] = MigrationToken(
                clientID: clientID, team: team, expiresAt: now + Self.accessLifetime)
            return token
        }
    }

    func accepts(migrationToken: String, clientID: String, team: String, at now: Int64) -> Bool {
        state.withLock { state in
            guard let token = state.migrationTokens[migrationToken] else { return false }
            return token.clientID == clientID && token.team == team && now < token.expiresAt
        }
    }

    func authorizations(at now: Int64) -> [AuthorizationListing] {
        state.withLock { state in
            state.ledger.records.compactMap { pair, record in
                guard let person = state.persons[pair.person] else { return nil }
                let subject = state.subject(of: person, in: pair.clientID, seed: seed, at: now)
                return AuthorizationListing(
                    person: pair.person, clientID: pair.clientID, team: subject.team, subject: subject.text,
                    isConsented: record.isConsented, grants: record.grants)
            }
        }
    }

    /// A code or token in Apple's format, derived from what it was made for.
    private func opaque(_ letter: String, _ kind: String, _ parts: String...) -> String {
        let origin = parts.joined(separator: " ")
        return letter + seed.hexadecimal(32, for: "apple.\(kind)", origin) + ".0."
            + seed.lowercase(4, for: "apple.\(kind).zone", origin) + "."
            + seed.alphanumeric(22, for: "apple.\(kind).tail", origin)
    }
}
