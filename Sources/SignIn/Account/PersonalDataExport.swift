package import Accounts
import JSON
package import Primitives
package import Storage

/// Everything that is stored about the person of an account, as one JSON document: an object for the account, and a list
/// for each other table, the newest row first. Without password hashes, tokens, codes and what these are found by.
package struct PersonalDataExport: Sendable {
    /// The bytes at which an answer over HTTP, which is made in memory, ends: some 10,000 rows.
    package static let answerBytes = 4_000_000
    private static let pageRows = 500

    /// The answers of a process that are made at once: each is whole in memory until it is sent.
    package static func concurrency() -> ConcurrencyLimit { ConcurrencyLimit(2) }

    private let store: PersonalData

    package init(store: PersonalData) {
        self.store = store
    }

    /// Records the export and writes its document, a page of rows at a time.
    ///
    /// - Parameters:
    ///   - bytes: the size of the document from which on lists get no further row. Those that have more, the older
    ///     ones, are named in `incompleteLists`.
    ///   - write: takes the next part of the document. Nothing is written when there is no such account.
    /// - Returns: whether there is such an account.
    package func export(
        _ id: AccountID, bytes: Int = .max, at now: Timestamp, from origin: ChangeOrigin,
        write: ([UInt8]) throws -> Void
    ) async throws -> Bool {
        guard try await store.recordExport(of: id, at: now, from: origin) else { return false }
        var writer = JSONWriter()
        var incomplete: [String] = []
        writer.beginObject()
        writer.member("exportedAt", now.rfc3339)
        var written = 0
        for table in ExportedTable.all {
            var isWhole = true
            var cursor: ExportCursor?
            writer.name(table.member)
            if table.form == .list { writer.beginArray() }
            repeat {
                let page = try await store.page(
                    table, of: id, after: cursor, limit: PersonalDataExport.pageRows, at: now)
                for row in page.items {
                    isWhole = table.form == .object || written + writer.bytes.count < bytes
                    guard isWhole else { break }
                    writer.write(row, of: table)
                }
                if table.form == .object, page.items.isEmpty { writer.null() }
                cursor = page.next
                let part = writer.take()
                written += part.count
                try write(part)
            } while isWhole && cursor != nil
            if table.form == .list { writer.endArray() }
            if !isWhole { incomplete.append(table.member) }
        }
        writer.member("incompleteLists", incomplete)
        writer.endObject()
        try write(writer.take())
        return true
    }

    /// The document, bounded by ``answerBytes``; `nil` when there is no such account.
    func answer(_ id: AccountID, at now: Timestamp, from origin: ChangeOrigin) async throws -> [UInt8]? {
        var document: [UInt8] = []
        let isFound = try await export(id, bytes: PersonalDataExport.answerBytes, at: now, from: origin) {
            document += $0
        }
        return isFound ? document : nil
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
