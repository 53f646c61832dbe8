import Synchronization

/// From a person's consent to the end of it.
extension AppleAccounts {
    /// One authorization, noted: what it says, about whom, and the code that stands for it.
    struct Authorization: Sendable {
        let identity: AppleIdentity
        let subject: AppleSubject
        let code: String
    }

    /// What a code was exchanged for.
    struct Exchanged: Sendable {
        let identity: AppleIdentity
        let subject: AppleSubject
        let accessToken: String
        let refreshToken: String?
    }

    /// Five minutes.
    static let codeLifetime: Int64 = 300
    static let accessLifetime: Int64 = 3600

    /// The person taps "Continue" in this client.
    func authorize(_ request: AppleAuthorization, at now: Int64) throws(ControlRefusal) -> Authorization {
        try state.withLock { state throws(ControlRefusal) in
            guard let person = state.persons[request.person] else { throw Self.stranger(request.person) }
            let tie = Ledger.Tie(person: person.name, clientID: request.clientID)
            let subject = state.subject(of: person, in: request.clientID, seed: seed, at: now)
            let isFirst = !state.ledger.isConsented(tie)
            let tellsEmail = request.scopes.contains(.email) && (isFirst || request.repeatsEmail)
            let identity = AppleIdentity(
                person: person, clientID: request.clientID, nonce: request.nonce, redirectURI: request.redirectURI,
                email: tellsEmail ? person.address(team: subject.team, seed: seed) : nil, isFirst: isFirst,
                authorizedAt: now, exchange: request.exchange)
            state.authorizations += 1
            let code = opaque("c", "code", String(state.authorizations))
            state.ledger.authorize(tie, identity, code: code, at: now)
            return Authorization(identity: identity, subject: subject, code: code)
        }
    }

    /// The person taps "Stop using Apple ID" for this client: the next authorization is a first one again.
    func withdraw(_ name: String, clientID: String, at now: Int64) throws(ControlRefusal) {
        let tie = Ledger.Tie(person: name, clientID: clientID)
        try state.withLock { state throws(ControlRefusal) in
            guard state.ledger.isConsented(tie) else { throw .notFound("\(name) has not authorized \(clientID).") }
            state.ledger.end(tie, by: .withdraw, at: now)
        }
    }

    /// Redeems a code; when it is refused it stays as it was.
    func exchange(
        _ code: String, clientID: String, redirectURI: String?, at now: Int64
    ) throws(EndpointRefusal) -> Exchanged {
        try state.withLock { state throws(EndpointRefusal) in
            let found: (tie: Ledger.Tie, identity: AppleIdentity)
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
            state.ledger.issue(accessToken: accessToken, to: found.tie, until: now + Self.accessLifetime)
            let refreshToken = found.identity.exchange.omitsRefreshToken ? nil : opaque("r", "refresh", code)
            if let refreshToken { state.ledger.issue(refreshToken: refreshToken, to: found.tie, at: now) }
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
            guard token.tie.clientID == clientID else { throw .apple(.invalidGrant, "refresh_token: foreign") }
            guard token.isLive else { throw .apple(.invalidGrant, "refresh_token: ended") }
            let count = state.ledger.check(refreshToken, at: now)
            let accessToken = opaque("a", "access", refreshToken, String(count))
            state.ledger.issue(accessToken: accessToken, to: token.tie, until: now + Self.accessLifetime)
            return accessToken
        }
    }

    /// Ends all that the person of this token has with the client; a token that is junk, dead or another client's ends
    /// nothing and is no fault.
    func revoke(_ text: String, hint: String?, clientID: String, at now: Int64) throws(EndpointRefusal) {
        try state.withLock { state throws(EndpointRefusal) in
            guard let token = state.ledger.token(text, at: now), token.tie.clientID == clientID else { return }
            guard hint == nil || hint == token.kind.rawValue else {
                throw .apple(.invalidRequest, "token_type_hint is wrong")
            }
            if token.kind == .refresh { state.ledger.noteRevocation(of: text) }
            if token.isLive { state.ledger.end(token.tie, by: .revoke, at: now) }
        }
    }

    /// A bearer token with which a team carries the users of a client over.
    func issueMigrationToken(clientID: String, team: String, at now: Int64) -> String {
        state.withLock { state in
            let token = opaque("a", "migration", clientID, team, String(state.migrationTokens.count))
            state.migrationTokens[token] = MigrationToken(
                clientID: clientID, team: team, expiresAt: now + Self.accessLifetime)
            return token
        }
    }

    func honours(migrationToken: String, clientID: String, team: String, at now: Int64) -> Bool {
        state.withLock { state in
            guard let token = state.migrationTokens[migrationToken] else { return false }
            return token.clientID == clientID && token.team == team && now < token.expiresAt
        }
    }

    func authorizations(at now: Int64) -> [AuthorizationListing] {
        state.withLock { state in
            state.ledger.records.compactMap { tie, record in
                guard let person = state.persons[tie.person] else { return nil }
                let subject = state.subject(of: person, in: tie.clientID, seed: seed, at: now)
                return AuthorizationListing(
                    person: tie.person, clientID: tie.clientID, team: subject.team, subject: subject.text,
                    isConsented: record.isConsented, grants: record.grants)
            }
        }
    }

    /// A code or token in Apple's shape, which follows from what it was made for.
    private func opaque(_ letter: String, _ kind: String, _ parts: String...) -> String {
        let origin = parts.joined(separator: " ")
        return letter + seed.hexadecimal(32, for: "apple.\(kind)", origin) + ".0."
            + seed.lowercase(4, for: "apple.\(kind).zone", origin) + "."
            + seed.alphanumeric(22, for: "apple.\(kind).tail", origin)
    }
}
