package import Accounts
import JSON
package import Primitives
package import Storage

/// Everything that is stored about the person of an account, as one JSON document: an object for the account, and a list
/// for each other table, the newest row first. Without password hashes, tokens, codes and what these are found by.
///
/// Its making is recorded before the first byte. It has no bound: it is read by pages along a key and written as it is
/// read, so that a slow reader holds no connection to the database and no more than a page in memory.
package struct PersonalDataExport: Sendable {
    private static let pageRows = 200
    /// The least that is written at once, but for the end: a list may be empty.
    private static let partBytes = 32 * 1024

    /// The exports to people that a process writes at once. Each has a page of rows in memory; what is slow is the one who
    /// reads, and so nobody may have all the places.
    package static func places() -> FairLimit<Party> { FairLimit(running: 16) }

    /// Of these, what one network and one account may have.
    static let placesOfNetwork = 4
    static let placesOfAccount = 2

    private let id: AccountID
    private let store: PersonalData
    private let call: Call
    /// Among those of the process, for as long as this value lives.
    private let place: FairLimit<Party>.Place?

    /// Records the export; `nil` when there is no such account.
    package init?(
        of id: AccountID, from store: PersonalData, by call: Call,
        holding place: FairLimit<Party>.Place? = nil
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
    /// - Throws: what `write` or the database throws, in the middle of the document; `Refusal.accountNotFound` before its end
    ///   when the account was deleted meanwhile, and some of what it was to hold with it.
    package func write(_ write: ([UInt8]) async throws -> Void) async throws {
        var writer = JSONWriter()
        try await writer.streamedObject { writer in
            writer.member("exportedAt", call.now.rfc3339)
            for table in ExportedTable.all {
                writer.name(table.member)
                switch table.form {
                case .object: try await self.write(table, to: &writer, write)
                case .list: try await writer.streamedArray { try await self.write(table, to: &$0, write) }
                }
            }
            guard try await store.holdsAccount(id) else { throw Refusal.accountNotFound }
        }
        try await write(writer.take())
    }

    /// Writes the rows of a table, a page at a time.
    private func write(
        _ table: ExportedTable, to writer: inout JSONWriter, _ write: ([UInt8]) async throws -> Void
    ) async throws {
        var cursor: ExportCursor?
        repeat {
            let page = try await store.page(table, of: id, after: cursor, limit: Self.pageRows, by: call)
            for row in page.items { writer.write(row, of: table) }
            if table.form == .object, page.items.isEmpty { writer.null() }
            cursor = page.next
            if writer.bytes.count >= Self.partBytes { try await write(writer.take()) }
        } while cursor != nil
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ row: ExportedRow, of table: ExportedTable) {
        let cells = zip(table.columns, row.values).compactMap { column, value in
            value.map { (column: column, value: $0) }
        }
        object { writer in
            var rest = cells[...]
            while let column = rest.first?.column {
                let run = rest.prefix { $0.column.group == column.group }
                rest.removeFirst(run.count)
                if let group = column.group {
                    writer.object(group) { $0.members(of: run) }
                } else {
                    writer.members(of: run)
                }
            }
        }
    }

    private mutating func members(of cells: ArraySlice<(column: ExportedColumn, value: ExportedValue)>) {
        for (column, value) in cells {
            switch value {
            case .text(let text): member(column.member, text)
            case .texts(let texts): member(column.member, texts)
            case .number(let number): member(column.member, number)
            case .flag(let flag): member(column.member, flag)
            case .time(let time): member(column.member, time.rfc3339)
            }
        }
    }
}
