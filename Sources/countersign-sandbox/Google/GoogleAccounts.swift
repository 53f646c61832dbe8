import Synchronization

/// What Google knows: persons, and how many authorizations there have been.
final class GoogleAccounts: Sendable {
    private struct State {
        var persons: [String: GooglePerson] = [:]
        var authorizations = 0
    }

    private let state = Mutex(State())

    func reset() {
        state.withLock { $0 = State() }
    }

    var persons: [GooglePerson] {
        state.withLock { state in state.persons.values.sorted { $0.name < $1.name } }
    }

    func person(_ name: String) throws(ControlRefusal) -> GooglePerson {
        guard let person = state.withLock({ $0.persons[name] }) else { throw Self.stranger(name) }
        return person
    }

    /// Creates the person or changes the members that the request names.
    func update(_ members: ControlMembers) throws(ControlRefusal) -> (person: GooglePerson, isNew: Bool) {
        let name = try members.personName()
        let known = state.withLock { $0.persons[name] }
        var person = known ?? GooglePerson(name: name)
        try person.update(members)
        let updated = person
        state.withLock { $0.persons[name] = updated }
        return (updated, known == nil)
    }

    /// The person chooses this account in the app; the number tells this authorization from all others.
    func authorize(_ name: String) throws(ControlRefusal) -> (person: GooglePerson, ordinal: Int) {
        let granted: (GooglePerson, Int)? = state.withLock { state in
            guard let person = state.persons[name] else { return nil }
            state.authorizations += 1
            return (person, state.authorizations)
        }
        guard let granted else { throw Self.stranger(name) }
        return granted
    }

    private static func stranger(_ name: String) -> ControlRefusal {
        .notFound("There is no Google person \(name); POST /control/google/persons makes one.")
    }
}
