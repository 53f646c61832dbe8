import Accounts
import Postgres
import Storage
import TestSupport
import Testing

/// The tables and columns of the schema, and what becomes of each in a person's export.
@Suite struct PersonalDataTests {
    /// The columns of each table, without the partitions.
    private static func schema(_ database: Database) async throws -> [String: Set<String>] {
        let columns = try await database.query(
            """
            SELECT c.relname::text, a.attname::text
            FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                AND a.attnum > 0 AND NOT a.attisdropped
            """, as: String.self, String.self)
        return Dictionary(grouping: columns, by: \.0).mapValues { Set($0.map(\.1)) }
    }

    @Test func `each column of the schema is exported, or left out for a reason`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let schema = try await Self.schema(database)
            #expect(schema.count > 25)
            let exported = Dictionary(grouping: ExportedTable.all, by: \.name)
            let tables = Set(exported.keys)
            let omitted = Set(ExportedTable.omittedTables.keys)
            #expect(tables.isDisjoint(with: omitted))
            #expect(tables.union(omitted) == Set(schema.keys))
            for (name, lists) in exported {
                let columns = Set(lists.flatMap(\.columns).map(\.name))
                let reasons = lists.reduce(into: [:]) { $0.merge($1.omitted) { reason, _ in reason } }
                #expect(columns.isDisjoint(with: reasons.keys), "\(name)")
                #expect(columns.union(reasons.keys) == schema[name], "\(name)")
                for (column, reason) in reasons { #expect(!reason.isEmpty, "\(name).\(column)") }
            }
            for (table, reason) in ExportedTable.omittedTables { #expect(!reason.isEmpty, "\(table)") }
        }
    }

    @Test func `the members of the document have one name each`() {
        let members = ExportedTable.all.map(\.member)
        #expect(Set(members).count == members.count)
        for table in ExportedTable.all {
            let names = table.columns.map { ($0.group.map { "\($0)." } ?? "") + $0.member }
            #expect(Set(names).count == names.count, "\(table.member)")
        }
        #expect(ExportedTable.all.first?.columns.map(\.member).contains("displayName") == true)
    }
}
