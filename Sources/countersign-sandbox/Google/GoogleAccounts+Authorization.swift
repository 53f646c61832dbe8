import Synchronization

/// From a person's consent to the end of it.
extension GoogleAccounts {
    /// One authorization, noted: what it says, and the code and access token that stand for it.
    struct Authorization: Sendable {
        let identity: GoogleIdentity
        let code: String
        let accessToken: String
    }

    /// What a code or a refresh token was exchanged for.
    struct Exchanged: Sendable {
        let identity: GoogleIdentity
        let accessToken: String
        let refreshToken: String?
    }

    /// Google does not document it; ten minutes are the most that RFC 6749 §4.1.2 advises.
    static let codeLifetime: Int64 = 600
    /// As answers have it: a second has gone by.
    static let accessLifetime: Int64 = 3599
    /// Live refresh tokens of a person for a client; one more ends the oldest without a word.
    static let grantLimit = 100
    /// "Six months" without use, in days.
    static let disuse: Int64 = 183 * 86_400

    /// The person chooses this account in the app.
    func authorize(_ request: GoogleAuthorization, at now: Int64) throws(ControlRefusal) -> Authorization {
        try state.withLock { state throws(ControlRefusal) in
            guard let person = state.persons[request.person] else { throw Self.stranger(request.person) }
            let tie = Ledger.Tie(person: person.name, clientID: request.serverClientID)
            let identity = GoogleIdentity(
                person: person, serverClientID: request.serverClientID, nonce: request.nonce, scopes: request.scopes,
                forcesConsent: request.forcesConsent, exchange: request.exchange)
            state.authorizations += 1
            let place = String(state.authorizations)
            let code = "4/0A" + seed.alphanumeric(69, for: "google.code", place)
            let accessToken = accessToken(place)
            state.ledger.authorize(tie, identity, code: code, at: now)
            state.ledger.issue(accessToken: accessToken, to: tie, until: now + Self.accessLifetime)
            return Authorization(identity: identity, code: code, accessToken: accessToken)
        }
    }

    /// The person removes this client from the account: the next exchange brings a refresh token again.
    func withdraw(_ name: String, clientID: String, at now: Int64) throws(ControlRefusal) {
        let tie = Ledger.Tie(person: name, clientID: clientID)
        try state.withLock { state throws(ControlRefusal) in
            guard state.ledger.isConsented(tie) else { throw .notFound("\(name) has not authorized \(clientID).") }
            state.ledger.end(tie, by: .withdraw, at: now)
        }
    }

    /// Redeems a code; when it is refused it stays as it was.
    ///
    /// - Parameter redirectURI: nil when there is none. The codes of native apps want it there and empty.
    func exchange(
        _ code: String, clientID: String, redirectURI: String?, at now: Int64
    ) throws(EndpointRefusal) -> Exchanged {
        try state.withLock { state throws(EndpointRefusal) in
            let found: (tie: Ledger.Tie, identity: GoogleIdentity)
            do throws(Ledger.CodeFault) {
                found = try state.ledger.code(code, of: clientID, lifetime: Self.codeLifetime, at: now)
            } catch {
                switch error {
                case .unknown: throw .google(.invalidGrant, "Malformed auth code.")
                case .foreign: throw .google(.unauthorizedClient, "Unauthorized", "code: foreign")
                case .spent, .ended, .expired: throw .google(.invalidGrant, "Bad Request", "code: \(error)")
                }
            }
            guard redirectURI == "" else {
                throw .google(.redirectURIMismatch, "Bad Request", "redirect_uri must be there and empty")
            }
            state.ledger.spend(code)
            let accessToken = accessToken(code)
            state.ledger.issue(accessToken: accessToken, to: found.tie, until: now + Self.accessLifetime)
            return Exchanged(
                identity: found.identity, accessToken: accessToken,
                refreshToken: state.newRefreshToken(for: code, of: found.tie, found.identity, seed: seed, at: now))
        }
    }

    func refresh(_ refreshToken: String, clientID: String, at now: Int64) throws(EndpointRefusal) -> Exchanged {
        try state.withLock { state throws(EndpointRefusal) in
            guard let tie = state.ledger.token(refreshToken, at: now)?.tie else {
                throw .google(.invalidGrant, "Bad Request", "refresh_token: unknown")
            }
            state.endDisused(tie, at: now)
            guard let token = state.ledger.token(refreshToken, at: now), token.kind == .refresh,
                let identity = state.ledger.records[tie]?.identity
            else { throw .google(.invalidGrant, "Bad Request", "refresh_token: not one") }
            guard tie.clientID == clientID else {
                throw .google(.unauthorizedClient, "Unauthorized", "refresh_token: foreign")
            }
            guard token.isLive else { throw .google(.invalidGrant, "Token has been expired or revoked.") }
            let count = state.ledger.check(refreshToken, at: now)
            let accessToken = accessToken(refreshToken + " \(count)")
            state.ledger.issue(accessToken: accessToken, to: tie, until: now + Self.accessLifetime)
            return Exchanged(identity: identity, accessToken: accessToken, refreshToken: nil)
        }
    }

    /// Ends all that the person of this token has with its client. The token is all the proof that Google asks for.
    func revoke(_ text: String, at now: Int64) throws(EndpointRefusal) {
        try state.withLock { state throws(EndpointRefusal) in
            if let tie = state.ledger.token(text, at: now)?.tie { state.endDisused(tie, at: now) }
            let token = state.ledger.token(text, at: now)
            if token?.kind == .refresh { state.ledger.noteRevocation(of: text) }
            guard let token, token.isLive else { throw .google(.invalidToken, "Token expired or revoked") }
            state.ledger.end(token.tie, by: .revoke, at: now)
        }
    }

    func authorizations(at now: Int64) -> [AuthorizationListing] {
        state.withLock { state in
            for tie in state.ledger.records.keys { state.endDisused(tie, at: now) }
            return state.ledger.records.compactMap { tie, record in
                state.persons[tie.person].map { person in
                    AuthorizationListing(
                        person: tie.person, clientID: tie.clientID, team: nil, subject: person.subject(seed: seed),
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
    /// A refresh token comes with the first exchange after a consent: the person's first, the first after everything was
    /// revoked, and each for which consent was asked anew. One that died by itself is not replaced.
    fileprivate mutating func newRefreshToken(
        for code: String, of tie: GoogleAccounts.Ledger.Tie, _ identity: GoogleIdentity, seed: Seed, at now: Int64
    ) -> String? {
        endDisused(tie, at: now)
        let grants = ledger.records[tie]?.grants ?? []
        let isHeld = grants.contains { $0.endedBy != .revoke && $0.endedBy != .withdraw }
        guard !identity.exchange.omitsRefreshToken, identity.forcesConsent || !isHeld else { return nil }
        let live = grants.filter(\.isLive)
        if live.count >= GoogleAccounts.grantLimit, let oldest = live.first?.refreshToken {
            ledger.endGrants(of: tie, by: .limit, at: now) { $0.refreshToken == oldest }
        }
        let refreshToken = "1//0g" + seed.alphanumeric(98, for: "google.refresh", code)
        ledger.issue(refreshToken: refreshToken, to: tie, at: now)
        return refreshToken
    }

    fileprivate mutating func endDisused(_ tie: GoogleAccounts.Ledger.Tie, at now: Int64) {
        ledger.endGrants(of: tie, by: .disuse, at: now) { now - $0.lastUse >= GoogleAccounts.disuse }
    }
}
