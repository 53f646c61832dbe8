import Hummingbird
import JSON

/// The controls of the Google side, under `/control/google`.
struct GoogleControl: Sendable {
    let accounts: GoogleAccounts
    let authorizer: GoogleAuthorizer
    let clock: SandboxClock

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("persons") { request, _ in
            let members = try await request.members(GooglePerson.memberNames)
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
        group.post("authorize") { request, _ in
            let members = try await request.members(GoogleAuthorization.memberNames)
            let result = try await authorizer.authorize(GoogleAuthorization(members))
            return Response.json { writer in
                writer.member("userId", result.userID)
                writer.member("idToken", result.idToken)
                writer.member("serverAuthCode", result.serverAuthCode)
                writer.member("accessToken", result.accessToken)
                writer.member("email", result.email)
                writer.member("name", result.name)
            }
        }
        group.post("withdraw") { request, _ in
            let members = try await request.members(["person", "clientId"])
            try accounts.withdraw(members.text("person"), clientID: members.clientID(), at: clock.now)
            return Response.done
        }
        group.get("authorizations") { _, _ in
            AuthorizationListing.response(accounts.authorizations(at: clock.now))
        }
        group.post("clients") { request, _ in
            let members = try await request.members([
                "clientId", "clientSecret", "redirectUris", "internalTo", "deleted",
            ])
            if try members.flag("deleted") {
                for name in members.names where name != "clientId" && name != "deleted" {
                    throw ControlRefusal.invalid("\(name) and deleted exclude each other.")
                }
                let client = try accounts.delete(try members.clientID())
                return Response.json { write(client, &$0) }
            }
            let client = try accounts.register(members)
            return Response.json { write(client, &$0) }
        }
        group.get("clients") { _, _ in
            Response.items(accounts.clients) { write($0, &$1) }
        }
    }

    /// Without the secret, which Google's console shows only once.
    private func write(_ client: GoogleAccounts.Client, _ writer: inout JSONWriter) {
        writer.member("clientId", client.id)
        writer.member("redirectUris", client.redirectURIs)
        writer.member("internalTo", client.internalTo)
        writer.member("deleted", client.isDeleted)
    }

    private func write(_ person: GooglePerson, _ writer: inout JSONWriter) {
        writer.member("name", person.name)
        writer.member("subject", person.subject(seed: accounts.seed))
        writer.member("email", person.email)
        writer.member("emailVerified", person.emailVerified)
        writer.member("hostedDomain", person.hostedDomain)
        writer.member("givenName", person.givenName)
        writer.member("familyName", person.familyName)
        writer.member("picture", person.picture)
    }
}
