import Synchronization

/// A person's consent, the codes and tokens issued for it, and its end.
extension GoogleAccounts {
    /// A recorded authorization: what tokens may state, the code and the access token.
    struct Authorization: Sendable {
        let identity: GoogleIdentity
        let code: String
        let accessToken: String
    }

    /// The result of a code exchange or a refresh.
    struct Exchanged: Sendable {
        let identity: GoogleIdentity
        let accessToken: String
        let refreshToken: String?
    }

    /// Seconds. Google documents none; ten minutes are the most that RFC 6749 §4.1.2 recommends.
    static let codeLifetime: Int64 = 600
    /// Seconds, as in Google's answers.
    static let accessLifetime: Int64 = 3599
    /// Live refresh tokens of a person for a client; one more silently ends the oldest.
    static let grantLimit = 100
    /// Seconds without use that end a refresh token: "six months", taken as 183 days.
    static let disuse: Int64 = 183 * 86_400

    /// Records the consent of a person who chooses this account in the app.
    func authorize(_ request: GoogleAuthorization, at now: Int64) throws(ControlRefusal) -> Authorization {
        try state.withLock { state throws(ControlRefusal) in
            guard let person = state.persons[request.person] else { throw Self.personNotFound(request.person) }
            let pair = Ledger.Pair(person: person.name, clientID: request.serverClientID)
            let identity = GoogleIdentity(
                person: person, serverClientID: request.serverClientID, nonce: request.nonce, scopes: request.scopes,
                forcesConsent: request.forcesConsent, webRequest: request.webRequest, exchange: request.exchange)
            state.authorizations += 1
            let number = String(state.authorizations)
            let code = "4/0A" + seed.alphanumeric(69, for: "google.code", number)
            let accessToken = accessToken(number)
            state.ledger.authorize(pair, identity, code: code, at: now)
            state.ledger.issue(accessToken: accessToken, to: pair, until: now + Self.accessLifetime)
            return Authorization(identity: identity, code: code, accessToken: accessToken)
        }
    }

    func isConsented(_ name: String, clientID: String) -> Bool {
        state.withLock { $0.ledger.isConsented(Ledger.Pair(person: name, clientID: clientID)) }
    }

    /// Ends the consent of a person who removes this client from the account: the next exchange brings a refresh token
    /// again.
    func withdraw(_ name: String, clientID: String, at now: Int64) throws(ControlRefusal) {
        let pair = Ledger.Pair(person: name, clientID: clientID)
        try state.withLock { state throws(ControlRefusal) in
            guard state.ledger.isConsented(pair) else { throw .notFound("\(name) has not authorized \(clientID).") }
            state.ledger.end(pair, by: .withdraw, at: now)
        }
    }

    /// Redeems a code. A refused code is unchanged.
    ///
    /// - Parameters:
    ///   - redirectURI: nil when absent. The codes of native apps require an empty one.
    ///   - verifier: the `code_verifier`; nil when absent.
    func exchange(
        _ code: String, clientID: String, redirectURI: String?, verifier: String?, at now: Int64
    ) throws(EndpointRefusal) -> Exchanged {
        try state.withLock { state throws(EndpointRefusal) in
            let found: (pair: Ledger.Pair, identity: GoogleIdentity)
            do throws(Ledger.CodeFault) {
                found = try state.ledger.code(code, of: clientID, lifetime: Self.codeLifetime, at: now)
            } catch {
                switch error {
                case .unknown: throw .google(.invalidGrant, "Malformed auth code.")
                case .foreign: throw .google(.unauthorizedClient, "Unauthorized", "code: foreign")
                case .spent, .ended, .expired: throw .google(.invalidGrant, "Bad Request", "code: \(error)")
                }
            }
            try Self.check(redirectURI: redirectURI, verifier: verifier, against: found.identity.webRequest)
            state.ledger.spend(code)
            let accessToken = accessToken(code)
            state.ledger.issue(accessToken: accessToken, to: found.pair, until: now + Self.accessLifetime)
            return Exchanged(
                identity: found.identity, accessToken: accessToken,
                refreshToken: state.newRefreshToken(for: code, of: found.pair, found.identity, seed: seed, at: now))
        }
    }

    private static func check(
        redirectURI: String?, verifier: String?, against request: GoogleIdentity.WebRequest?
    ) throws(EndpointRefusal) {
        if let request {
            guard let redirectURI, redirectURI.utf8.elementsEqual(request.redirectURI.utf8) else {
                throw .google(.redirectURIMismatch, "Bad Request", "redirect_uri is not that of the request")
            }
        } else {
            guard redirectURI == "" else {
                throw .google(.redirectURIMismatch, "Bad Request", "redirect_uri must be there and empty")
            }
        }
        switch (request?.challenge, verifier) {
        case (nil, nil): break
        case (nil, .some): throw .google(.invalidRequest, "code_verifier is not needed.")
        case (.some, nil): throw .google(.invalidGrant, "Missing code verifier.")
        case (.some(let challenge), .some(let verifier)):
            guard challenge.isMet(by: verifier) else { throw .google(.invalidGrant, "Invalid code verifier.") }
        }
    }

    func refresh(_ refreshToken: String, clientID: String, at now: Int64) throws(EndpointRefusal) -> Exchanged {
        try state.withLock { state throws(EndpointRefusal) in
            guard let pair = state.ledger.token(refreshToken, at: now)?.pair else {
                throw .google(.invalidGrant, "Bad Request", "refresh_token: unknown")
            }
            state.endDisused(pair, at: now)
            guard let token = state.ledger.token(refreshToken, at: now), token.kind == .refresh,
                let identity = state.ledger.records[pair]?.identity
            else { throw .google(.invalidGrant, "Bad Request", "refresh_token: not one") }
            guard pair.clientID == clientID else {
                throw .google(.unauthorizedClient, "Unauthorized", "refresh_token: foreign")
            }
            guard token.isLive else { throw .google(.invalidGrant, "Token has been expired or revoked.") }
            let count = state.ledger.check(refreshToken, at: now)
            let accessToken = accessToken(refreshToken + " \(count)")
            state.ledger.issue(accessToken: accessToken, to: pair, until: now + Self.accessLifetime)
            return Exchanged(identity: identity, accessToken: accessToken, refreshToken: nil)
        }
    }

    /// Ends the whole authorization that the token belongs to. The token is the only proof that Google asks for.
    func revoke(_ text: String, at now: Int64) throws(EndpointRefusal) {
        try state.withLock { state throws(EndpointRefusal) in
            if let pair = state.ledger.token(text, at: now)?.pair { state.endDisused(pair, at: now) }
            let token = state.ledger.token(text, at: now)
            if token?.kind == .refresh { state.ledger.noteRevocation(of: text) }
            guard let token, token.isLive else { throw .google(.invalidToken, "Token expired or revoked") }
            state.ledger.end(token.pair, by: .revoke, at: now)
        }
    }

    func authorizations(at now: Int64) -> [AuthorizationListing] {
        state.withLock { state in
            for pair in state.ledger.records.keys { state.endDisused(pair, at: now) }
            return state.ledger.records.compactMap { pair, record in
                state.persons[pair.person].map { person in
                    AuthorizationListing(
                        person: pair.person, clientID: pair.clientID, team: nil, subject: person.subject(seed: seed),
                        isConsented: record.isConsented, grants: record.grants)
                }
            }
        }
    }

    private func accessToken(_ origin: String) -> String {
        "ya29." + seed.alphanumeric(120, for: "google.access", origin)
    }
}

extension GoogleAccounts.State {
    /// A refresh token comes with the first exchange after a consent: the person's first, the first after everything
    /// was revoked, and each with forced consent. A token that ended by limit or disuse is not replaced. A browser's
    /// request must have asked for one.
    fileprivate mutating func newRefreshToken(
        for code: String, of pair: GoogleAccounts.Ledger.Pair, _ identity: GoogleIdentity, seed: Seed, at now: Int64
    ) -> String? {
        guard identity.webRequest?.isOffline ?? true else { return nil }
        endDisused(pair, at: now)
        let grants = ledger.records[pair]?.grants ?? []
        let isHeld = grants.contains { $0.endedBy != .revoke && $0.endedBy != .withdraw }
        guard !identity.exchange.omitsRefreshToken, identity.forcesConsent || !isHeld else { return nil }
        let live = grants.filter(\.isLive)
        if live.count >= GoogleAccounts.grantLimit, let oldest = live.first?.refreshToken {
            ledger.endGrants(of: pair, by: .limit, at: now) { $0.refreshToken == oldest }
        }
        let refreshToken = "1//0g" + seed.alphanumeric(98, for: "google.refresh", code)
        ledger.issue(refreshToken: refreshToken, to: pair, at: now)
        return refreshToken
    }

    fileprivate mutating func endDisused(_ pair: GoogleAccounts.Ledger.Pair, at now: Int64) {
        ledger.endGrants(of: pair, by: .disuse, at: now) { now - $0.lastUse >= GoogleAccounts.disuse }
    }
}
