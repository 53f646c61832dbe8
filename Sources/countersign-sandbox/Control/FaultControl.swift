import Hummingbird

/// The controls of the faults, under `/control/faults`.
struct FaultControl: Sendable {
    let plan: FaultPlan

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("faults") { _, _ in Response.items(plan.entries.map(\.json)) }
        group.post("faults") { request, _ in
            Response.json(plan.add(try await request.body(Fault.init)).json, status: .created)
        }
        group.post("faults/clear") { request, _ in
            if let id = try await request.body({ $0.optionalInteger("id", in: 1...Int64.max) }) {
                try plan.clear(id: id)
            } else {
                plan.clear()
            }
            return Response.done
        }
    }
}

extension FaultPlan.Entry {
    fileprivate var json: JSONObject {
        [
            "id": id, "effect": fault.name.rawValue, "path": fault.path, "method": fault.method,
            "remaining": fault.remaining, "hits": hits,
        ]
    }
}
