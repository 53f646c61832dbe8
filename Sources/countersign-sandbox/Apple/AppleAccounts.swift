import Synchronization

/// What Apple knows: persons, the teams of the clients, and who has consented to what.
final class AppleAccounts: Sendable {
    /// The team of every client that nobody has given to another one.
    static let defaultTeam = "SANDBOX001"

    private struct Consent: Hashable {
        let person: String
        let clientID: String
    }

    private struct State {
        var persons: [String: ApplePerson] = [:]
        var teams: [String: String] = [:]
        var consents: Set<Consent> = []
        var authorizations = 0
    }

    /// One authorization: who, where, whether for the first time, and its place in the order of all.
    struct Authorization {
        let person: ApplePerson
        let team: String
        let isFirst: Bool
        let ordinal: Int
    }

    private let state = Mutex(State())

    func reset() {
        state.withLock { $0 = State() }
    }

    var persons: [ApplePerson] {
        state.withLock { state in state.persons.values.sorted { $0.name < $1.name } }
    }

    func person(_ name: String) throws(ControlRefusal) -> ApplePerson {
        guard let person = state.withLock({ $0.persons[name] }) else { throw Self.stranger(name) }
        return person
    }

    /// Creates the person or changes the members that the request names.
    func update(_ members: ControlMembers) throws(ControlRefusal) -> (person: ApplePerson, isNew: Bool) {
        let name = try members.personName()
        let known = state.withLock { $0.persons[name] }
        var person = known ?? ApplePerson(name: name)
        try person.update(members)
        let updated = person
        state.withLock { $0.persons[name] = updated }
        return (updated, known == nil)
    }

    func team(of clientID: String) -> String {
        state.withLock { $0.teams[clientID] ?? Self.defaultTeam }
    }

    func assign(_ clientID: String, to team: String) {
        state.withLock { $0.teams[clientID] = team }
    }

    var clients: [(clientID: String, team: String)] {
        state.withLock { state in
            state.teams.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
        }
    }

    /// The person taps "Continue" in this client.
    func authorize(_ name: String, clientID: String) throws(ControlRefusal) -> Authorization {
        let authorization: Authorization? = state.withLock { state in
            guard let person = state.persons[name] else { return nil }
            let isFirst = state.consents.insert(Consent(person: name, clientID: clientID)).inserted
            state.authorizations += 1
            return Authorization(
                person: person, team: state.teams[clientID] ?? Self.defaultTeam, isFirst: isFirst,
                ordinal: state.authorizations)
        }
        guard let authorization else { throw Self.stranger(name) }
        return authorization
    }

    /// The person taps "Stop using Apple ID" for this client: the next authorization is a first one again.
    func withdraw(_ name: String, clientID: String) throws(ControlRefusal) {
        let withdrawn = state.withLock { state in
            state.consents.remove(Consent(person: name, clientID: clientID)) != nil
        }
        guard withdrawn else { throw .notFound("\(name) has not authorized \(clientID).") }
    }

    private static func stranger(_ name: String) -> ControlRefusal {
        .notFound("There is no Apple person \(name); POST /control/apple/persons makes one.")
    }
}
