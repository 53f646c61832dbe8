import OpenSSL
import Synchronization

/// Teams, their keys, and the transfers of apps between them.
extension AppleAccounts {
    /// A client that a control request has named.
    struct Client: Sendable {
        let id: String
        let team: String
        /// Those of a Services ID; none for a native app.
        let redirectURIs: [String]
    }

    var clients: [Client] {
        state.withLock { state in
            state.clientTeams.keys.sorted().map { state.client($0) }
        }
    }

    func redirectURIs(of clientID: String) -> [String] {
        state.withLock { $0.redirectURIs[clientID] ?? [] }
    }

    /// Changes what is not nil.
    func assign(_ clientID: String, to team: String?, redirectURIs: [String]?) -> Client {
        state.withLock { state in
            state.clientTeams[clientID] = team ?? state.team(of: clientID)
            if let redirectURIs { state.redirectURIs[clientID] = redirectURIs }
            return state.client(clientID)
        }
    }

    var teams: [AppleTeam] {
        state.withLock { state in state.teams.values.sorted { $0.id < $1.id } }
    }

    func register(_ key: PublicKey, as keyID: String, of team: String) -> AppleTeam {
        state.withLock { state in
            state.teams[team, default: AppleTeam(id: team)].register(key, as: keyID)
            return state.teams[team] ?? AppleTeam(id: team)
        }
    }

    func revokeKey(_ keyID: String, of id: String) throws(ControlRefusal) -> AppleTeam {
        try state.withLock { state throws(ControlRefusal) in
            var team = state.teams[id] ?? AppleTeam(id: id)
            try team.revoke(keyID)
            state.teams[id] = team
            return team
        }
    }

    /// The teams whose keys may sign for a client: its own and, for user migration, the one it was transferred from.
    func teams(of clientID: String, forMigration: Bool, at now: Int64) -> [AppleTeam] {
        state.withLock { state in
            var ids = [state.team(of: clientID)]
            if forMigration, let transfer = state.transfers[clientID], transfer.isOpen(at: now) {
                ids.append(transfer.fromTeam)
            }
            return ids.compactMap { state.teams[$0] }
        }
    }

    // MARK: Transfers

    var transfers: [AppleTransfer] {
        state.withLock { state in state.transfers.values.sorted { $0.clientID < $1.clientID } }
    }

    /// Records the recipient's acceptance: from now on the client belongs to its team, and the app's users can be
    /// migrated.
    func transfer(
        _ clientID: String, from sender: String, to recipient: String, at now: Int64
    ) throws(ControlRefusal) -> AppleTransfer {
        guard sender != recipient else { throw .invalid("toTeam must be another team.") }
        return try state.withLock { state throws(ControlRefusal) in
            let owner = state.team(of: clientID)
            guard owner == sender else { throw .conflict("\(clientID) belongs to team \(owner).") }
            let users = state.ledger.records.filter { $0.key.clientID == clientID && $0.value.isConsented }
            let transfer = AppleTransfer(
                clientID: clientID, fromTeam: sender, toTeam: recipient, acceptedAt: now,
                persons: Set(users.keys.map(\.person)))
            state.transfers[clientID] = transfer
            state.clientTeams[clientID] = recipient
            return transfer
        }
    }

    /// The transfer identifier by which a team hands one of its users over to another team.
    func transferSubject(
        of subject: String, clientID: String, from sender: String, to recipient: String, at now: Int64
    ) throws(EndpointRefusal) -> String {
        guard sender != recipient else { throw .apple(.invalidRequest, "target is the sender itself") }
        return try state.withLock { state throws(EndpointRefusal) in
            guard state.knows(team: recipient) else { throw .apple(.invalidRequest, "target is no team") }
            let transfer = state.transfers[clientID].flatMap { $0.fromTeam == sender ? $0 : nil }
            if let transfer, transfer.toTeam != recipient {
                throw .apple(.invalidRequest, "target is not the team that the app went to")
            }
            let person = state.persons.values.first { person in
                let pair = Ledger.Pair(person: person.name, clientID: clientID)
                let isUser = transfer?.persons.contains(person.name) ?? state.ledger.isConsented(pair)
                return isUser && person.subject(team: sender, seed: seed) == subject
            }
            guard let person else { throw .apple(.invalidRequest, "sub is no user of this client") }
            return AppleTransfer.subject(of: person.name, to: recipient, seed: seed)
        }
    }

    /// The subject in the recipient's team that a transfer identifier stands for, and the relay address there.
    func transferred(
        _ subject: String, clientID: String, to recipient: String, at now: Int64
    ) throws(EndpointRefusal) -> (subject: String, relay: String?) {
        try state.withLock { state throws(EndpointRefusal) in
            guard let transfer = state.transfers[clientID], transfer.toTeam == recipient, transfer.isOpen(at: now)
            else {
                throw .apple(.invalidRequest, "the client has not come to this team within 60 days")
            }
            let person = state.persons.values.first { person in
                transfer.persons.contains(person.name)
                    && AppleTransfer.subject(of: person.name, to: recipient, seed: seed) == subject
            }
            guard let person else { throw .apple(.invalidRequest, "transfer_sub is nobody's") }
            return (
                person.subject(team: recipient, seed: seed),
                person.hidesEmail(from: recipient) ? person.address(team: recipient, seed: seed) : nil
            )
        }
    }
}

extension AppleAccounts.State {
    fileprivate func client(_ id: String) -> AppleAccounts.Client {
        AppleAccounts.Client(id: id, team: team(of: id), redirectURIs: redirectURIs[id] ?? [])
    }

    fileprivate func knows(team: String) -> Bool {
        team == AppleAccounts.defaultTeam || teams[team] != nil || clientTeams.values.contains(team)
            || transfers.values.contains { $0.fromTeam == team }
    }

    /// The subject by which the client's team knows the person now.
    func subject(of person: ApplePerson, in clientID: String, seed: Seed, at now: Int64) -> AppleSubject {
        let team = team(of: clientID)
        let transfer = transfers[clientID].flatMap { transfer in
            transfer.isOpen(at: now) && transfer.toTeam == team && transfer.persons.contains(person.name)
                ? AppleTransfer.subject(of: person.name, to: team, seed: seed) : nil
        }
        return AppleSubject(team: team, text: person.subject(team: team, seed: seed), transfer: transfer)
    }
}
