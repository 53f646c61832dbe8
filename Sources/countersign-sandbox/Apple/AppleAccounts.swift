import Synchronization

/// Apple's state: persons, teams with their keys and clients, consents and grants.
final class AppleAccounts: Sendable {
    /// The team of every client that is not assigned to another one.
    static let defaultTeam = "SANDBOX001"

    typealias Ledger = AuthorizationLedger<AppleIdentity>

    struct State {
        var persons: [String: ApplePerson] = [:]
        var teams: [String: AppleTeam] = [:]
        var clientTeams: [String: String] = [:]
        var redirectURIs: [String: [String]] = [:]
        var transfers: [String: AppleTransfer] = [:]
        var ledger = Ledger()
        var migrationTokens: [String: MigrationToken] = [:]
        var authorizations = 0
        var events = 0

        func team(of clientID: String) -> String { clientTeams[clientID] ?? AppleAccounts.defaultTeam }
    }

    /// A bearer token with the scope `user.migration`.
    struct MigrationToken: Sendable {
        let clientID: String
        let team: String
        let expiresAt: Int64
    }

    let state = Mutex(State())
    let seed: Seed

    init(seed: Seed) {
        self.seed = seed
    }

    func reset() {
        state.withLock { $0 = State() }
    }

    var persons: [ApplePerson] {
        state.withLock { state in state.persons.values.sorted { $0.name < $1.name } }
    }

    func person(_ name: String) throws(ControlRefusal) -> ApplePerson {
        guard let person = state.withLock({ $0.persons[name] }) else { throw Self.personNotFound(name) }
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

    static func personNotFound(_ name: String) -> ControlRefusal {
        .notFound("There is no Apple person \(name); POST /control/apple/persons makes one.")
    }
}
