import Synchronization

/// Google's state: persons, server clients, consents and grants.
final class GoogleAccounts: Sendable {
    typealias Ledger = AuthorizationLedger<GoogleIdentity>

    /// A client that has a secret.
    struct Client: Sendable {
        let id: String
        var secret: String
        /// Those of a web client.
        var redirectURIs: [String] = []
        /// The Workspace domain whose persons alone may use it.
        var internalTo: String?
        var isDeleted = false
    }

    struct State {
        var persons: [String: GooglePerson] = [:]
        var clients: [String: Client] = [:]
        var ledger = Ledger()
        var authorizations = 0
        var events = 0
    }

    let state = Mutex(State())
    let seed: Seed

    init(seed: Seed) {
        self.seed = seed
    }

    func reset() {
        state.withLock { $0 = State() }
    }

    var persons: [GooglePerson] {
        state.withLock { state in state.persons.values.sorted { $0.name < $1.name } }
    }

    func person(_ name: String) throws(ControlRefusal) -> GooglePerson {
        guard let person = state.withLock({ $0.persons[name] }) else { throw Self.personNotFound(name) }
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

    static func personNotFound(_ name: String) -> ControlRefusal {
        .notFound("There is no Google person \(name); POST /control/google/persons makes one.")
    }

    // MARK: Clients

    var clients: [Client] {
        state.withLock { state in state.clients.values.sorted { $0.id < $1.id } }
    }

    func client(_ id: String) -> Client? {
        state.withLock { $0.clients[id] }
    }

    /// Makes a client or changes the members that the request names. A client with a new secret is no longer deleted.
    func register(_ members: ControlMembers) throws(ControlRefusal) -> Client {
        let id = try members.clientID()
        let known = client(id)
        let needsSecret = known == nil || members.names == ["clientId"]
        let secret = needsSecret ? try members.text("clientSecret") : try members.optionalText("clientSecret")
        var client = known ?? Client(id: id, secret: "")
        if let secret {
            client.secret = secret
            client.isDeleted = false
        }
        client.redirectURIs = try members.redirectURIs() ?? client.redirectURIs
        try members.change(&client.internalTo, "internalTo")
        let registered = client
        state.withLock { $0.clients[id] = registered }
        return registered
    }

    func delete(_ clientID: String) throws(ControlRefusal) -> Client {
        try state.withLock { state throws(ControlRefusal) in
            guard var client = state.clients[clientID] else { throw .notFound("There is no client \(clientID).") }
            client.isDeleted = true
            state.clients[clientID] = client
            return client
        }
    }

    func requireClient(_ clientID: String, secret: String) throws(EndpointRefusal) {
        guard let client = state.withLock({ $0.clients[clientID] }) else {
            throw .google(.invalidClient, "The OAuth client was not found.")
        }
        guard !client.isDeleted else { throw .google(.deletedClient, "The OAuth client was deleted.") }
        guard client.secret == secret else {
            throw .google(.invalidClient, "The provided client secret is invalid.")
        }
    }
}
