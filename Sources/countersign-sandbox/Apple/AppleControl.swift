import Hummingbird
import JSON

/// The controls of the Apple side, under `/control/apple`.
struct AppleControl: Sendable {
    let accounts: AppleAccounts
    let authorizer: AppleAuthorizer
    let clock: SandboxClock

    private var seed: Seed { accounts.seed }

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("persons") { request, _ in
            let members = try await request.members(ApplePerson.memberNames)
            let (person, isNew) = try accounts.update(members)
            return Response.json(isNew ? .created : .ok) { write(person, &$0) }
        }
        group.get("persons") { _, _ in
            Response.items(accounts.persons) { write($0, &$1) }
        }
        group.get("persons/{name}") { _, context in
            let person = try accounts.person(context.parameters.require("name"))
            return Response.json { write(person, &$0) }
        }
        group.post("clients") { request, _ in
            let members = try await request.members(["clientId", "teamId", "redirectUris"])
            let redirectURIs = try members.redirectURIs()
            let needsTeam = redirectURIs == nil || members.raw("teamId") != nil
            let client = accounts.assign(
                try members.clientID(), to: needsTeam ? try members.identifier("teamId") : nil,
                redirectURIs: redirectURIs)
            return Response.json { write(client, &$0) }
        }
        group.get("clients") { _, _ in
            Response.items(accounts.clients) { write($0, &$1) }
        }
        group.post("authorize") { request, _ in
            let members = try await request.members(AppleAuthorization.memberNames)
            let credential = try await authorizer.authorize(AppleAuthorization(members))
            return Response.json { write(credential, &$0) }
        }
        group.post("withdraw") { request, _ in
            let members = try await request.members(["person", "clientId"])
            try accounts.withdraw(members.text("person"), clientID: members.clientID(), at: clock.now)
            return Response.done
        }
        group.get("authorizations") { _, _ in
            AuthorizationListing.response(accounts.authorizations(at: clock.now))
        }
        addTeams(to: group)
    }

    private func addTeams(to group: RouterGroup<SandboxContext>) {
        group.post("teams") { request, _ in
            let members = try await request.members(["teamId", "keyId", "publicKey", "revoked"])
            let id = try members.identifier("teamId")
            let keyID = try members.identifier("keyId")
            let team: AppleTeam
            if try members.flag("revoked") {
                guard members.raw("publicKey") == nil else {
                    throw ControlRefusal.invalid("publicKey and revoked exclude each other.")
                }
                team = try accounts.revokeKey(keyID, of: id)
            } else {
                team = accounts.register(try AppleTeam.publicKey(members), as: keyID, of: id)
            }
            return Response.json { write(team, &$0) }
        }
        group.get("teams") { _, _ in
            Response.items(accounts.teams) { write($0, &$1) }
        }
        group.post("transfers") { request, _ in
            let members = try await request.members(["clientId", "fromTeam", "toTeam"])
            let transfer = try accounts.transfer(
                members.clientID(), from: members.identifier("fromTeam"), to: members.identifier("toTeam"),
                at: clock.now)
            return Response.json { write(transfer, &$0) }
        }
        group.get("transfers") { _, _ in
            Response.items(accounts.transfers) { write($0, &$1) }
        }
    }

    private func write(_ team: AppleTeam, _ writer: inout JSONWriter) {
        writer.member("teamId", team.id)
        writer.objects("keys", of: team.keys) { key, writer in
            writer.member("keyId", key.id)
            writer.member("revoked", key.isRevoked)
        }
    }

    private func write(_ transfer: AppleTransfer, _ writer: inout JSONWriter) {
        writer.member("clientId", transfer.clientID)
        writer.member("fromTeam", transfer.fromTeam)
        writer.member("toTeam", transfer.toTeam)
        writer.member("acceptedAt", Timestamp.text(transfer.acceptedAt))
        writer.member("endsAt", Timestamp.text(transfer.endsAt))
        writer.member("persons", transfer.persons.sorted())
    }

    private func write(_ person: ApplePerson, _ writer: inout JSONWriter) {
        let teams = Set(accounts.clients.map(\.team)).union(person.subjects.keys).union([AppleAccounts.defaultTeam])
        writer.member("name", person.name)
        writer.member("email", person.email)
        writer.member("hidesEmail", person.hidesEmail)
        writer.member("emailVerified", person.emailVerified)
        writer.member("managed", person.isManaged)
        writer.member("givenName", person.givenName)
        writer.member("familyName", person.familyName)
        writer.member("realUserStatus", person.realUserStatus)
        writer.object("teams") { writer in
            for team in teams.sorted() {
                writer.object(team) { writer in
                    writer.member("subject", person.subject(team: team, seed: seed))
                    writer.member("email", person.address(team: team, seed: seed))
                }
            }
        }
    }

    private func write(_ client: AppleAccounts.Client, _ writer: inout JSONWriter) {
        writer.member("clientId", client.id)
        writer.member("teamId", client.team)
        writer.member("redirectUris", client.redirectURIs)
    }

    private func write(_ credential: AppleAuthorizer.Credential, _ writer: inout JSONWriter) {
        writer.member("user", credential.user)
        writer.member("identityToken", credential.identityToken)
        writer.member("authorizationCode", credential.authorizationCode)
        writer.member("email", credential.email)
        if credential.givenName != nil || credential.familyName != nil {
            writer.object("fullName") { writer in
                writer.member("givenName", credential.givenName)
                writer.member("familyName", credential.familyName)
            }
        }
        if let status = credential.realUserStatus { writer.member("realUserStatus", status) }
    }
}
