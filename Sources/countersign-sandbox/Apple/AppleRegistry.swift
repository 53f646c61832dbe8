/// What developers have registered at Apple: teams with their keys, clients, and the transfers of apps between teams.
struct AppleRegistry: Sendable {
    /// A bearer token with the scope `user.migration`.
    struct MigrationToken: Sendable {
        let clientID: String
        let team: String
        let expiresAt: Int64
    }

    /// The team of every client that is not assigned to another one.
    static let defaultTeam = "SANDBOX001"

    private var teamsByID: [String: AppleTeam] = [:]
    private var clientTeams: [String: String] = [:]
    /// Those of Services IDs; native apps have none.
    private var redirectURIs: [String: [String]] = [:]
    private var transfersByClient: [String: AppleTransfer] = [:]
    private var migrationTokens: [String: MigrationToken] = [:]

    // MARK: Clients and teams

    var clients: [String] { clientTeams.keys.sorted() }

    func redirectURIs(of clientID: String) -> [String] { redirectURIs[clientID] ?? [] }

    func team(of clientID: String) -> String { clientTeams[clientID] ?? Self.defaultTeam }

    /// Changes what is not nil.
    mutating func assign(_ clientID: String, to team: String?, redirectURIs uris: [String]?) {
        clientTeams[clientID] = team ?? self.team(of: clientID)
        if let uris { redirectURIs[clientID] = uris }
    }

    var teams: [AppleTeam] { teamsByID.values.sorted { $0.id < $1.id } }

    /// - Returns: the team as it is then.
    mutating func changeTeam(
        _ id: String, _ change: (inout AppleTeam) throws(ControlRefusal) -> Void
    ) throws(ControlRefusal) -> AppleTeam {
        var team = teamsByID[id] ?? AppleTeam(id: id)
        try change(&team)
        teamsByID[id] = team
        return team
    }

    /// The teams whose keys may sign for a client: its own and, for user migration, the one it was transferred from.
    func teams(of clientID: String, forMigration: Bool, at now: Int64) -> [AppleTeam] {
        var ids = [team(of: clientID)]
        if forMigration, let transfer = transfersByClient[clientID], transfer.isOpen(at: now) {
            ids.append(transfer.fromTeam)
        }
        return ids.compactMap { teamsByID[$0] }
    }

    fileprivate func knows(team: String) -> Bool {
        team == Self.defaultTeam || teamsByID[team] != nil || clientTeams.values.contains(team)
            || transfersByClient.values.contains { $0.fromTeam == team }
    }

    /// The subject by which the client's team knows the person now.
    func subject(of person: ApplePerson, in clientID: String, seed: Seed, at now: Int64) -> AppleSubject {
        let team = team(of: clientID)
        let transfer = transfersByClient[clientID].flatMap { transfer in
            transfer.isOpen(at: now) && transfer.toTeam == team && transfer.persons.contains(person.name)
                ? AppleTransfer.subject(of: person.name, to: team, seed: seed) : nil
        }
        return AppleSubject(team: team, text: person.subject(team: team, seed: seed), transfer: transfer)
    }

    // MARK: Transfers

    var transfers: [AppleTransfer] { transfersByClient.values.sorted { $0.clientID < $1.clientID } }

    fileprivate func transfer(of clientID: String) -> AppleTransfer? { transfersByClient[clientID] }

    fileprivate mutating func accept(_ transfer: AppleTransfer) {
        transfersByClient[transfer.clientID] = transfer
        clientTeams[transfer.clientID] = transfer.toTeam
    }

    /// Issues the bearer token with which a team migrates the users of a client.
    mutating func issueMigrationToken(clientID: String, team: String, seed: Seed, at now: Int64) -> String {
        let token = Apple.opaque("a", "migration", "\(clientID) \(team) \(migrationTokens.count)", seed)
        migrationTokens[token] = MigrationToken(clientID: clientID, team: team, expiresAt: now + Apple.accessLifetime)
        return token
    }

    func accepts(migrationToken: String, clientID: String, team: String, at now: Int64) -> Bool {
        guard let token = migrationTokens[migrationToken] else { return false }
        return token.clientID == clientID && token.team == team && now < token.expiresAt
    }
}

extension ProviderAccounts<Apple>.State {
    /// Records the recipient's acceptance: from now on the client belongs to its team, and the app's users can be
    /// migrated.
    mutating func transfer(
        _ clientID: String, from sender: String, to recipient: String, at now: Int64
    ) throws(ControlRefusal) -> AppleTransfer {
        guard sender != recipient else { throw .invalid("toTeam must be another team.") }
        let owner = registry.team(of: clientID)
        guard owner == sender else { throw .conflict("\(clientID) belongs to team \(owner).") }
        let users = ledger.records.filter { $0.key.clientID == clientID && $0.value.isConsented }
        let transfer = AppleTransfer(
            clientID: clientID, fromTeam: sender, toTeam: recipient, acceptedAt: now,
            persons: Set(users.keys.map(\.person)))
        registry.accept(transfer)
        return transfer
    }

    /// The transfer identifier by which a team hands one of its users over to another team.
    func transferSubject(
        of subject: String, clientID: String, from sender: String, to recipient: String, seed: Seed
    ) throws(EndpointRefusal) -> String {
        guard sender != recipient else { throw .apple(.invalidRequest, "target is the sender itself") }
        guard registry.knows(team: recipient) else { throw .apple(.invalidRequest, "target is no team") }
        let transfer = registry.transfer(of: clientID).flatMap { $0.fromTeam == sender ? $0 : nil }
        if let transfer, transfer.toTeam != recipient {
            throw .apple(.invalidRequest, "target is not the team that the app went to")
        }
        let person = persons.values.first { person in
            let pair = Apple.Pair(person: person.name, clientID: clientID)
            let isUser = transfer?.persons.contains(person.name) ?? ledger.isConsented(pair)
            return isUser && person.subject(team: sender, seed: seed) == subject
        }
        guard let person else { throw .apple(.invalidRequest, "sub is no user of this client") }
        return AppleTransfer.subject(of: person.name, to: recipient, seed: seed)
    }

    /// The person in the recipient's team whom a transfer identifier stands for.
    func transferred(
        _ subject: String, clientID: String, to recipient: String, seed: Seed, at now: Int64
    ) throws(EndpointRefusal) -> ApplePerson {
        guard let transfer = registry.transfer(of: clientID), transfer.toTeam == recipient, transfer.isOpen(at: now)
        else { throw .apple(.invalidRequest, "the client has not come to this team within 60 days") }
        let person = persons.values.first { person in
            transfer.persons.contains(person.name)
                && AppleTransfer.subject(of: person.name, to: recipient, seed: seed) == subject
        }
        guard let person else { throw .apple(.invalidRequest, "transfer_sub is nobody's") }
        return person
    }
}
