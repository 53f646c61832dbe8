import Hummingbird
import JSON

/// The controls of one provider's authorization page: `/control/…/auto` and, where forms are posted, `/control/…/browser`.
struct BrowserControl: Sendable {
    let provider: BrowserProvider
    let plan: BrowserPlan
    /// Throws when there is no person of this name.
    let requirePerson: @Sendable (String) throws(ControlRefusal) -> Void

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("auto") { request, _ in
            let members = try await request.members(BrowserChoice.fields(of: provider) + ["clientId", "times"])
            let entry = BrowserPlan.Entry(
                choice: try BrowserChoice(members),
                clientID: members.raw("clientId") == nil ? nil : try members.clientID(),
                remaining: try members.integer("times", in: 1...1_000_000) ?? 1)
            if let person = entry.choice.person { try requirePerson(person) }
            plan.add(entry)
            return Response.json(.created) { write(entry, &$0) }
        }
        group.get("auto") { _, _ in
            Response.items(plan.entries) { write($0, &$1) }
        }
        group.post("auto/clear") { request, _ in
            _ = try await request.members([])
            plan.clear()
            return Response.done
        }
        guard provider == .apple else { return }
        group.post("browser") { request, _ in
            guard let sendsForms = try await request.members(["autoSubmit"]).optionalFlag("autoSubmit") else {
                throw ControlRefusal.invalid("autoSubmit is missing.")
            }
            plan.sendsForms = sendsForms
            return settings()
        }
        group.get("browser") { _, _ in settings() }
    }

    private func settings() -> Response {
        .json { writer in
            writer.member("autoSubmit", plan.sendsForms)
        }
    }

    private func write(_ entry: BrowserPlan.Entry, _ writer: inout JSONWriter) {
        writer.member("action", entry.choice.action?.rawValue)
        writer.member("person", entry.choice.person)
        writer.member("clientId", entry.clientID)
        writer.member("remaining", entry.remaining)
    }
}
