import Hummingbird

/// The controls that both providers have, under `/control/apple` and `/control/google`.
extension Provider {
    func addControls(to group: RouterGroup<SandboxContext>) {
        KeyControl(keys: keys).add(to: group)
        addPersons(to: group)
        addChoices(to: group)
        group.post("authorize") { request, _ in
            let (granted, token) = try await authorize(try await request.body(AuthorizationRequest.init))
            return Response.json(Profile.json(granted, token: token, self))
        }
        group.post("withdraw") { request, _ in
            let (person, clientID) = try await request.body { ($0.text("person"), $0.clientID()) }
            try accounts.withdraw(person, clientID: clientID, at: clock.now)
            return Response.done
        }
        group.get("authorizations") { _, _ in Response.items(accounts.authorizations(at: clock.now)) }
    }

    private func addPersons(to group: RouterGroup<SandboxContext>) {
        group.post("persons") { request, _ in
            let person = try await request.body(accounts.updated)
            let isNew = accounts.keep(person)
            return Response.json(Profile.json(person, self), status: isNew ? .created : .ok)
        }
        group.get("persons") { _, _ in Response.items(accounts.persons.map { Profile.json($0, self) }) }
        group.get("persons/{name}") { _, context in
            Response.json(Profile.json(try accounts.person(context.parameters.require("name")), self))
        }
    }

    /// What the authorization page does without a person.
    private func addChoices(to group: RouterGroup<SandboxContext>) {
        group.post("auto") { request, _ in
            let entry = try await request.body { BrowserPlan.Entry($0, at: Profile.name) }
            if let person = entry.choice.person { _ = try accounts.person(person) }
            plan.add(entry)
            return Response.json(entry.json, status: .created)
        }
        group.get("auto") { _, _ in Response.items(plan.entries.map(\.json)) }
        group.post("auto/clear") { request, _ in
            try await request.emptyBody()
            plan.clear()
            return Response.done
        }
    }
}
