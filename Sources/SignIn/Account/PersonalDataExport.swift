package import Accounts
import JSON
package import Primitives
package import Storage

/// Everything that is stored about the person of an account, as one JSON document: an object for the account, and a list
/// for each other table, the newest row first. Without password hashes, tokens, codes and what these are found by.
///
/// Its making is recorded before the first byte. It has no bound: it is read by pages along a key and written as it is
/// read, so that no connection to the database is held, and no more than a page in memory, while somebody takes it
/// slowly.
package struct PersonalDataExport: Sendable {
    private static let pageRows = 200
    /// The least that is written at once, but for the end: a list may be empty.
    private static let partBytes = 32 * 1024

    /// The exports that a process writes at once. Each has a page of rows in memory; what is slow is the one who reads.
    package static func concurrency() -> ConcurrencyLimit { ConcurrencyLimit(16) }

    private let id: AccountID
    private let store: PersonalData
    private let call: Call
    /// Among those of the process, for as long as this value lives.
    private let place: ConcurrencyLimit.Place?

    /// Records the export; `nil` when there is no such account.
    package init?(
        of id: AccountID, from store: PersonalData, by call: Call,
        holding place: ConcurrencyLimit.Place? = nil
    ) async throws {
        guard try await store.recordExport(of: id, by: call) else { return nil }
        self.id = id
        self.store = store
        self.call = call
        self.place = place
    }

    /// Writes the document.
    ///
    /// - Parameter write: takes the next part of it, when it has room.
    /// - Throws: what `write` or the database throws, in the middle of the document.
    package func write(_ write: ([UInt8]) async throws -> Void) async throws {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("exportedAt", call.now.rfc3339)
        for table in ExportedTable.all {
            var cursor: ExportCursor?
            writer.name(table.member)
            if table.form == .list { writer.beginArray() }
            repeat {
                let page = try await store.page(
                    table, of: id, after: cursor, limit: PersonalDataExport.pageRows, by: call)
                for row in page.items { writer.write(row, of: table) }
                if table.form == .object, page.items.isEmpty { writer.null() }
                cursor = page.next
                if writer.bytes.count >= PersonalDataExport.partBytes { try await write(writer.take()) }
            } while cursor != nil
            if table.form == .list { writer.endArray() }
        }
        writer.endObject()
        try await write(writer.take())
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ row: ExportedRow, of table: ExportedTable) {
        beginObject()
        var group: String?
        for (column, value) in zip(table.columns, row.values) {
            guard let value else { continue }
            if column.group != group {
                if group != nil { endObject() }
                group = column.group
                if let group {
                    name(group)
                    beginObject()
                }
            }
            switch value {
            case .text(let text): member(column.member, text)
            case .texts(let texts): member(column.member, texts)
            case .number(let number): member(column.member, number)
            case .flag(let flag): member(column.member, flag)
            case .time(let time): member(column.member, time.rfc3339)
            }
        }
        if group != nil { endObject() }
        endObject()
    }
}
