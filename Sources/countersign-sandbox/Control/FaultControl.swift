import Hummingbird
import JSON

/// The controls of the faults, under `/control/faults`.
struct FaultControl: Sendable {
    let plan: FaultPlan

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("faults") { _, _ in
            Response.items(plan.entries) { write($0, &$1) }
        }
        group.post("faults") { request, _ in
            let entry = plan.add(try Fault(await request.members(Fault.memberNames)))
            return Response.json(.created) { write(entry, &$0) }
        }
        group.post("faults/clear") { request, _ in
            if let id = try await request.members(["id"]).integer("id", in: 1...Int64.max) {
                try plan.clear(id: id)
            } else {
                plan.clear()
            }
            return Response.done
        }
    }

    private func write(_ entry: FaultPlan.Entry, _ writer: inout JSONWriter) {
        writer.member("id", entry.id)
        writer.member("effect", entry.fault.name.rawValue)
        writer.member("path", entry.fault.path)
        writer.member("method", entry.fault.method)
        if let remaining = entry.fault.remaining { writer.member("remaining", remaining) }
        writer.member("hits", entry.hits)
    }
}
