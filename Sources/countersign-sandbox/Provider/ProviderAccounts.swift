import Synchronization

/// One provider's state: persons, what developers have registered, consents and grants.
final class ProviderAccounts<Profile: ProviderProfile>: Sendable {
    typealias Ledger = AuthorizationLedger<Identity<Profile>>

    struct State: Sendable {
        var persons: [String: Profile.Person] = [:]
        var registry = Profile.registry()
        var ledger = Ledger()
        var authorizations = 0
        var events = 0

        func person(_ name: String) throws(ControlRefusal) -> Profile.Person {
            guard let person = persons[name] else {
                let path = "/control/\(Profile.name.folder)/persons"
                throw .notFound("There is no \(Profile.name.rawValue) person \(name); POST \(path) makes one.")
            }
            return person
        }

        mutating func endDisused(_ pair: Ledger.Pair, at now: Int64) {
            guard let disuse = Profile.disuse else { return }
            ledger.endGrants(of: pair, by: .disuse, at: now) { now - $0.lastUse >= disuse }
        }
    }

    /// A recorded authorization.
    struct Granted: Sendable {
        let identity: Identity<Profile>
        let code: String
        let accessToken: String?
    }

    /// The result of a code exchange or a refresh.
    struct Exchanged: Sendable {
        let identity: Identity<Profile>
        let accessToken: String
        let refreshToken: String?
    }

    private let state = Mutex(State())
    let seed: Seed

    init(seed: Seed) { self.seed = seed }

    func reset() { state.withLock { $0 = State() } }

    var registry: Profile.Registry { state.withLock { $0.registry } }

    func change<Result: Sendable, Failure: Error>(
        _ change: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try change(&state) }
    }

    // MARK: Persons

    var persons: [Profile.Person] {
        state.withLock { state in state.persons.values.sorted { $0.name < $1.name } }
    }

    func person(_ name: String) throws(ControlRefusal) -> Profile.Person {
        try state.withLock { state throws(ControlRefusal) in try state.person(name) }
    }

    /// The person whom the request names with its changes; nothing is kept yet.
    func updated(_ members: ControlMembers) -> Profile.Person {
        let name = members.personName()
        var person = state.withLock { $0.persons[name] } ?? Profile.Person(name: name)
        person.update(members)
        return person
    }

    /// - Returns: whether there was no person of this name.
    func keep(_ person: Profile.Person) -> Bool {
        state.withLock { $0.persons.updateValue(person, forKey: person.name) } == nil
    }

    /// The number of an event that is being sent.
    func nextEvent() -> String {
        state.withLock { state in
            state.events += 1
            return String(state.events)
        }
    }

    // MARK: Consent

    /// Records the consent of a person who goes on with this client.
    func authorize(_ request: AuthorizationRequest<Profile>, at now: Int64) throws(ControlRefusal) -> Granted {
        try state.withLock { state throws(ControlRefusal) in
            var person = try state.person(request.person)
            let pair = Ledger.Pair(person: person.name, clientID: request.codeClientID)
            let isFirst = !state.ledger.isConsented(pair)
            let email = Profile.share(&person, by: request, isFirst: isFirst, state.registry, seed: seed)
            state.persons[person.name] = person
            let identity = Identity(person: person, request: request, email: email, isFirst: isFirst, authorizedAt: now)
            state.authorizations += 1
            let number = String(state.authorizations)
            let code = Profile.code(number, seed: seed)
            state.ledger.authorize(pair, identity, code: code, at: now)
            let accessToken = Profile.givesAppAccessToken ? Profile.accessToken(number, seed: seed) : nil
            if let accessToken {
                state.ledger.issue(accessToken: accessToken, to: pair, until: now + Profile.accessLifetime)
            }
            return Granted(identity: identity, code: code, accessToken: accessToken)
        }
    }

    func isConsented(_ name: String, clientID: String) -> Bool {
        state.withLock { $0.ledger.isConsented(Ledger.Pair(person: name, clientID: clientID)) }
    }

    /// Ends the consent of a person who takes it back in the account's settings: the next authorization is as the first
    /// was.
    func withdraw(_ name: String, clientID: String, at now: Int64) throws(ControlRefusal) {
        let pair = Ledger.Pair(person: name, clientID: clientID)
        try state.withLock { state throws(ControlRefusal) in
            guard state.ledger.isConsented(pair) else { throw .notFound("\(name) has not authorized \(clientID).") }
            state.ledger.end(pair, by: .withdraw, at: now)
        }
    }

    /// The provider's present state of each person and client, as the control API lists it.
    func authorizations(at now: Int64) -> [JSONObject] {
        state.withLock { state in
            for pair in state.ledger.records.keys { state.endDisused(pair, at: now) }
            let records = state.ledger.records.sorted { left, right in
                (left.key.person, left.key.clientID) < (right.key.person, right.key.clientID)
            }
            return records.compactMap { pair, record in
                guard let person = state.persons[pair.person] else { return nil }
                var json: JSONObject = ["person": pair.person, "clientId": pair.clientID]
                json.set(Profile.listing(person, pair.clientID, state, seed: seed, at: now))
                json.set(["consented": record.isConsented, "grants": record.grants.map(\.json)])
                return json
            }
        }
    }

    // MARK: Tokens

    /// Redeems a code. A refused code is unchanged.
    func exchange(_ code: String, clientID: String, _ form: EndpointForm, at now: Int64) throws(EndpointRefusal)
        -> Exchanged
    {
        try state.withLock { state throws(EndpointRefusal) in
            let found: (pair: Ledger.Pair, identity: Identity<Profile>)
            do throws(GrantFault) {
                found = try state.ledger.code(code, of: clientID, lifetime: Profile.codeLifetime, at: now)
            } catch {
                throw Profile.refusal(error, of: "code")
            }
            try Profile.check(form, against: found.identity)
            state.ledger.spend(code)
            let accessToken = Profile.accessToken(code, seed: seed)
            state.ledger.issue(accessToken: accessToken, to: found.pair, until: now + Profile.accessLifetime)
            let refreshToken = Profile.newRefreshToken(
                for: code, of: found.pair, found.identity, &state, seed: seed, at: now)
            if let refreshToken { state.ledger.issue(refreshToken: refreshToken, to: found.pair, at: now) }
            return Exchanged(identity: found.identity, accessToken: accessToken, refreshToken: refreshToken)
        }
    }

    /// Answers a refresh with a new access token.
    func refresh(_ refreshToken: String, clientID: String, at now: Int64) throws(EndpointRefusal) -> Exchanged {
        try state.withLock { state throws(EndpointRefusal) in
            _ = state.token(refreshToken, at: now)
            do throws(GrantFault) {
                let pair = try state.ledger.refreshToken(refreshToken, of: clientID, at: now)
                guard let identity = state.ledger.records[pair]?.identity else { throw .unknown }
                let count = state.ledger.check(refreshToken, at: now)
                let accessToken = Profile.accessToken("\(refreshToken) \(count)", seed: seed)
                state.ledger.issue(accessToken: accessToken, to: pair, until: now + Profile.accessLifetime)
                return Exchanged(identity: identity, accessToken: accessToken, refreshToken: nil)
            } catch {
                throw Profile.refusal(error, of: "refresh_token")
            }
        }
    }

    /// Ends the whole authorization that the token belongs to, live or dead, if `mayEnd` says so.
    ///
    /// - Returns: whether the token lived.
    func revoke(
        _ text: String, at now: Int64, _ mayEnd: (Ledger.Token) throws(EndpointRefusal) -> Bool = { _ in true }
    ) throws(EndpointRefusal) -> Bool {
        try state.withLock { state throws(EndpointRefusal) in
            guard let token = state.token(text, at: now), try mayEnd(token) else { return false }
            if token.kind == .refresh { state.ledger.noteRevocation(of: text) }
            if token.isLive { state.ledger.end(token.pair, by: .revoke, at: now) }
            return token.isLive
        }
    }
}

extension ProviderAccounts.State {
    /// The token, after disuse has ended what it ends.
    fileprivate mutating func token(_ text: String, at now: Int64) -> ProviderAccounts.Ledger.Token? {
        guard let pair = ledger.token(text, at: now)?.pair else { return nil }
        endDisused(pair, at: now)
        return ledger.token(text, at: now)
    }
}
