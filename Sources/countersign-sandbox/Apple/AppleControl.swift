import Hummingbird
import OpenSSL

/// The controls of Apple alone, under `/control/apple`: clients, teams, transfers, and the form of the page's answer.
extension Provider<Apple> {
    func addAppleControls(to group: RouterGroup<SandboxContext>) {
        addControls(to: group)
        group.post("clients") { request, _ in
            let (clientID, team, uris) = try await request.body { members in
                let clientID = members.clientID()
                members.allow(["teamId"])
                let uris = members.redirectURIs()
                let needsTeam = uris == nil || members.raw("teamId") != nil
                return (clientID, needsTeam ? members.identifier("teamId") : nil, uris)
            }
            accounts.change { $0.registry.assign(clientID, to: team, redirectURIs: uris) }
            return Response.json(accounts.registry.json(clientID))
        }
        group.get("clients") { _, _ in
            let registry = accounts.registry
            return Response.items(registry.clients.map(registry.json))
        }
        group.post("browser") { request, _ in
            plan.sendsForms = try await request.body { $0.requiredFlag("autoSubmit") }
            return Response.json(["autoSubmit": plan.sendsForms])
        }
        group.get("browser") { _, _ in Response.json(["autoSubmit": plan.sendsForms]) }
        group.post("teams") { request, _ in try await changeTeam(request) }
        group.get("teams") { _, _ in Response.items(accounts.registry.teams.map(\.json)) }
        group.post("transfers") { request, _ in
            let (clientID, sender, recipient) = try await request.body { members in
                (members.clientID(), members.identifier("fromTeam"), members.identifier("toTeam"))
            }
            let transfer = try accounts.change { state throws(ControlRefusal) in
                try state.transfer(clientID, from: sender, to: recipient, at: clock.now)
            }
            return Response.json(transfer.json)
        }
        group.get("transfers") { _, _ in Response.items(accounts.registry.transfers.map(\.json)) }
    }

    private func changeTeam(_ request: Request) async throws -> Response {
        let (id, keyID, publicKey) = try await request.body { members in
            (members.identifier("teamId"), members.identifier("keyId"), members.publicKey(.es256))
        }
        let team = try accounts.change { state throws(ControlRefusal) in
            try state.registry.changeTeam(id) { team throws(ControlRefusal) in
                if let publicKey { team.register(publicKey, as: keyID) } else { try team.revoke(keyID) }
            }
        }
        return Response.json(team.json)
    }
}
