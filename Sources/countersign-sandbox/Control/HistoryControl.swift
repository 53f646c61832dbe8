import Hummingbird
import JSON

/// The controls of the history, under `/control/history`.
struct HistoryControl: Sendable {
    let history: RequestHistory

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("history") { request, _ in
            let query = try HistoryQuery(request.uri.query ?? "")
            let entries = try await history.entries(
                query.filter, count: query.count, within: .seconds(query.waitSeconds))
            return listing(entries)
        }
        group.post("history/clear") { request, _ in
            _ = try await request.members([])
            history.clear()
            return Response.done
        }
    }

    private func listing(_ entries: [RequestHistory.Entry]) -> Response {
        .json { writer in
            writer.objects("items", of: entries, write)
            writer.member("dropped", history.dropped)
        }
    }

    private func write(_ entry: RequestHistory.Entry, _ writer: inout JSONWriter) {
        writer.member("id", entry.id)
        writer.member("time", Timestamp.text(entry.time))
        writer.member("elapsedMilliseconds", entry.elapsed)
        writer.member("method", entry.method)
        writer.member("path", entry.path)
        writer.fields("query", entry.query)
        writer.fields("headers", entry.headers)
        switch entry.body {
        case .none: break
        case .form(let fields): writer.fields("form", fields)
        case .other(let bytes, let fingerprint):
            writer.object("body") { writer in
                writer.member("bytes", bytes)
                writer.member("fingerprint", fingerprint)
            }
        }
        if let status = entry.status { writer.member("status", status) }
        writer.member("fault", entry.fault)
        writer.member("reason", entry.reason)
    }
}

extension JSONWriter {
    /// Parameters or header fields, in their order.
    mutating func fields(_ name: String, _ fields: [(name: String, value: String)]) {
        objects(name, of: fields) { field, writer in
            writer.member("name", field.name)
            writer.member("value", field.value)
        }
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
