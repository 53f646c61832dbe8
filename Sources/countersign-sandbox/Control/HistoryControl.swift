import Hummingbird

/// The controls of the history, under `/control/history`.
struct HistoryControl: Sendable {
    let history: RequestHistory

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("history") { request, _ in
            let query = try HistoryQuery(request.uri.query ?? "")
            let entries = try await history.entries(
                query.filter, count: query.count, within: .seconds(query.waitSeconds))
            return Response.json(["items": entries.map(\.json), "dropped": history.dropped])
        }
        group.post("history/clear") { request, _ in
            try await request.emptyBody()
            history.clear()
            return Response.done
        }
    }
}

extension RequestHistory.Entry {
    fileprivate var json: JSONObject {
        var json: JSONObject = [
            "id": id, "time": Timestamp.text(time), "elapsedMilliseconds": elapsed, "method": method, "path": path,
            "query": JSONObject.fields(query), "headers": JSONObject.fields(headers),
        ]
        switch body {
        case .none: break
        case .form(let fields): json.set("form", JSONObject.fields(fields))
        case .other(let bytes, let fingerprint):
            json.set("body", ["bytes": bytes, "fingerprint": fingerprint] as JSONObject)
        }
        json.set(["status": status, "fault": fault, "reason": reason])
        return json
    }
}

/// The query of `GET /control/history`, read as strictly as the bodies of the other controls.
struct HistoryQuery: Sendable {
    var filter = RequestHistory.Filter()
    var count: Int64 = 0
    var waitSeconds: Int64 = 0

    init(_ text: String) throws(ControlRefusal) {
        guard let fields = FormFields(Array(text.utf8))?.fields else { throw .invalid("The query is not one.") }
        for (name, value) in fields {
            switch name {
            case "path": filter.path = value
            case "method": filter.method = value
            case "status": filter.status = try Self.number(name, value, in: 100...599)
            case "after": filter.after = try Self.number(name, value, in: 0...Int64.max)
            case "count": count = try Self.number(name, value, in: 0...10_000)
            case "wait": waitSeconds = try Self.number(name, value, in: 0...60)
            default:
                throw .invalid("Unknown parameter \(name). Known here: path, method, status, after, count, wait.")
            }
        }
    }

    private static func number(
        _ name: String, _ text: String, in range: ClosedRange<Int64>
    ) throws(ControlRefusal) -> Int64 {
        guard let number = Int64(text), range.contains(number) else {
            throw .invalid("\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}
