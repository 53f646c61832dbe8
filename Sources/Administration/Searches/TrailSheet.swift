package import Accounts
import Primitives
import Storage

/// Rows of the trail as a table for a spreadsheet: CSV by RFC 4180, the newest row first. What a spreadsheet would take for a
/// formula is marked as text.
///
/// Its making is recorded before the first byte. It is read a page at a time as it is taken.
package struct TrailSheet: Sendable {
    /// The most rows of one.
    package static let maximumRows = 100_000
    private static let pageRows = 1_000

    private let filter: AuditFilter
    private let trail: AuditTrail
    /// Among the tables of the process, for as long as this value lives.
    private let place: FairLimit<Never>.Place

    fileprivate init(_ filter: AuditFilter, of trail: AuditTrail, holding place: FairLimit<Never>.Place) {
        self.filter = filter
        self.trail = trail
        self.place = place
    }

    /// - Parameter write: takes the next part, when it has room. Where rows were examined of which none matches, the part
    ///   is empty: it throws when its reader has left.
    /// - Throws: what `write` or the database throws, in the middle of the table; also when the process ends.
    package func write(_ write: ([UInt8]) async throws -> Void) async throws {
        try await write(Self.line(AuditRecord.fields.map(\.name)))
        var (cursor, left): (AuditCursor?, Int) = (nil, Self.maximumRows)
        repeat {
            try Task.checkCancellation()
            let page = try await trail.list(filter, before: cursor, limit: min(left, Self.pageRows))
            try await write(
                page.items.flatMap { record in
                    Self.line(AuditRecord.fields.map { $0.value(record)?.plain ?? "" })
                })
            left -= page.items.count
            cursor = page.next
        } while cursor != nil && left > 0
    }

    private static func line(_ cells: [String]) -> [UInt8] {
        Array((cells.map(cell).joined(separator: ",") + "\r\n").utf8)
    }

    /// A cell, quoted where it has to be.
    package static func cell(_ text: String) -> String {
        let inert = text.utf8.first.map("=+-@\t\r".utf8.contains) == true ? "'" + text : text
        guard inert.utf8.contains(where: "\",\r\n".utf8.contains) else { return inert }
        return "\"" + inert.escaping("\"", with: "\"") + "\""
    }
}

extension RecordValue {
    /// As a table has it that has no other forms than text.
    fileprivate var plain: String {
        switch self {
        case .text(let text), .code(let text), .status(let text, _): text
        case .codes(let texts): texts.joined(separator: " ")
        case .provider(let provider): provider.rawValue
        case .number(let number): String(number)
        case .flag(let flag): flag ? "true" : "false"
        case .time(let time): time.rfc3339
        case .counts(let counts): counts.map { "\($0.word) \($0.count)" }.joined(separator: " ")
        }
    }
}

extension Administration {
    /// The rows that a filter matches.
    package func trailSheet(
        _ filter: AuditFilter, by administrator: Administrator
    ) async throws(AdministrationFailure) -> TrailSheet {
        guard let place = sheets.acquire() else { throw .overloaded(retryAfter: 1) }
        let conditions = try await recorded(filter)
        let event = AuditEvent(
            .auditExported, from: administrator.call.origin,
            reason: conditions.isEmpty ? "all" : conditions.joined(separator: " "))
        try await stored { try await trail.record(event, by: administrator.call) }
        return TrailSheet(filter, of: trail, holding: place)
    }

    /// The conditions, as the trail may keep them for good: what was typed may be an address. A name that the trail has
    /// and a request id that is a UUID are there as they are; of others, only that there was a condition.
    private func recorded(_ filter: AuditFilter) async throws(AdministrationFailure) -> [String] {
        var name: String?
        if case .name(let text)? = filter.actor {
            var search = AuditFilter()
            search.actor = filter.actor
            if try await !auditEvents(search, before: nil, limit: 1).items.isEmpty { name = text }
        }
        return filter.parameters.map { condition in
            switch (condition.name, filter.actor) {
            case ("actor", .name?):
                name.map { "actor=\"\($0.escaping("\"\\", with: "\\"))\"" } ?? "actor"
            case ("request", _) where AuditEventID(condition.value) == nil: "request"
            default: "\(condition.name)=\(condition.value)"
            }
        }
    }
}
