import Hummingbird
import JOSE

/// The controls of the Google side, under `/control/google`.
struct GoogleControl: Sendable {
    let accounts: GoogleAccounts
    let authorizer: GoogleAuthorizer
    let seed: Seed

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
                writer.beginObject()
                writer.member("userId", result.userID)
                writer.member("idToken", result.idToken)
                writer.member("serverAuthCode", result.serverAuthCode)
                writer.member("accessToken", result.accessToken)
                writer.member("email", result.email)
                writer.member("name", result.name)
                writer.endObject()
            }
        }
    }

    private func write(_ person: GooglePerson, _ writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", person.name)
        writer.member("subject", person.subject(seed: seed))
        writer.member("email", person.email)
        writer.member("emailVerified", person.emailVerified)
        writer.member("hostedDomain", person.hostedDomain)
        writer.member("givenName", person.givenName)
        writer.member("familyName", person.familyName)
        writer.member("picture", person.picture)
        writer.endObject()
    }
}
