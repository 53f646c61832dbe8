import Hummingbird

/// The controls of Google alone, under `/control/google`: clients, the event stream, and what `LinkingControl` has.
extension Provider<Google> {
    func addGoogleControls(to group: RouterGroup<SandboxContext>) {
        addControls(to: group)
        group.post("clients") { request, _ in
            let client = try await request.body(accounts.registry.updated)
            guard !client.isDeleted || accounts.registry.client(client.id) != nil else {
                throw ControlRefusal.notFound("There is no client \(client.id).")
            }
            accounts.change { $0.registry.keep(client) }
            return Response.json(client.json)
        }
        group.get("clients") { _, _ in Response.items(accounts.registry.clients.map(\.json)) }
    }
}
