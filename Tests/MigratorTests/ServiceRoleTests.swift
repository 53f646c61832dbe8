import Foundation
import Postgres
import TestSupport
import Testing

@testable import Migrator

/// The service's role has what it needs and no more, and the migrator neither makes nor drops it.
@Suite struct ServiceRoleTests {
    private static let migrations = [
        Migration(
            version: 1, name: "create_things",
            up: """
                -- why
                CREATE TABLE things (id integer PRIMARY KEY, name text);
                CREATE SEQUENCE thing_numbers;
                CREATE TABLE audit_events (at date NOT NULL, what text) PARTITION BY RANGE (at);
                CREATE TABLE audit_events_2026 PARTITION OF audit_events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');

                """,
            down: "-- why\nDROP TABLE audit_events, things; DROP SEQUENCE thing_numbers;\n")
    ]

    private func withRole(
        _ body: @Sendable (_ owner: Database, _ service: Database, _ role: String) async throws -> Void
    ) async throws {
        try await ScratchDatabase.withEmpty { scratch, owner in
            let role = "service \(UUID().uuidString)"
            try await owner.execute("CREATE ROLE \"\(unsafeSQL: role)\" LOGIN")
            let url = try Self.url(scratch.url, user: role)
            let service = Database(configuration: .init(url: url, poolSize: 1), logger: quiet)
            do {
                try await body(owner, service, role)
            } catch {
                Issue.record(error)
            }
            await service.shutdown()
            try await owner.execute("DROP OWNED BY \"\(unsafeSQL: role)\"")
            try await owner.execute("DROP ROLE \"\(unsafeSQL: role)\"")
        }
    }

    /// The last `user` of a URI's parameters is the one that counts.
    private static func url(_ url: String, user: String) throws -> String {
        let name = try #require(user.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        return url + (url.contains("?") ? "&" : "?") + "user=" + name
    }

    @Test func `the service reads and writes rows, and can only add to the audit trail`() async throws {
        try await withRole { owner, service, role in
            _ = try await owner.migrator(Self.migrations, service: ServiceRole(name: role)).up()
            for allowed in [
                "INSERT INTO things VALUES (1, 'a')", "UPDATE things SET name = 'b'", "SELECT name FROM things",
                "DELETE FROM things", "SELECT nextval('thing_numbers')",
                "INSERT INTO audit_events VALUES ('2026-02-01', 'x')", "SELECT what FROM audit_events",
                "SELECT version FROM schema_migrations",
            ] {
                try await service.execute(SQL(unsafeSQL: allowed))
            }
            for refused in [
                "UPDATE audit_events SET what = 'y'", "DELETE FROM audit_events", "TRUNCATE audit_events",
                "DELETE FROM audit_events_2026", "INSERT INTO audit_events_2026 VALUES ('2026-02-01', 'x')",
                "DELETE FROM schema_migrations", "UPDATE schema_migrations SET name = ''", "TRUNCATE things",
                "DROP TABLE things", "ALTER TABLE things ADD COLUMN x int",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await service.execute(SQL(unsafeSQL: refused))
                }
                #expect(error?.sqlState == "42501", "\(refused)")
            }
            // The check that serve makes is one that its role may make.
            try await service.migrator(Self.migrations).requireServableSchema()
        }
    }

    @Test func `an older program leaves the privileges alone that a later one gave`() async throws {
        let later = Migration(
            version: 2, name: "create_guarded", up: "-- why\nCREATE TABLE guarded (id integer);\n",
            down: "-- why\nDROP TABLE guarded;\n")
        try await withRole { owner, service, role in
            _ = try await owner.migrator(Self.migrations + [later], service: ServiceRole(name: role)).up()
            // As a later program may, that knows why.
            try await owner.execute("REVOKE UPDATE, DELETE ON guarded FROM \"\(unsafeSQL: role)\"")
            #expect(try await owner.migrator(Self.migrations, service: ServiceRole(name: role)).up().isEmpty)
            let error = await #expect(throws: PostgresError.self) { try await service.execute("DELETE FROM guarded") }
            #expect(error?.sqlState == "42501")
            try await service.migrator(Self.migrations).requireServableSchema()
        }
    }

    /// With the real tables, the partitions among them.
    @Test func `the service can add to the audit trail and change nothing of it`() async throws {
        try await withRole { owner, service, role in
            _ = try await owner.migrator(Migration.embedded, service: ServiceRole(name: role)).up()
            let id = "'01890000-0000-7000-8000-000000000001'"
            for allowed in [
                "INSERT INTO audit_events (event_id, type, actor, created_at) VALUES (\(id), 'x', 'person', '2026-12-01Z')",
                """
                INSERT INTO audit_seals (seal_number, chain, transaction_id, event_id, row_count, total_count, key_id, mac,
                    created_at)
                VALUES (1, 1, 1, \(id), 1, 1, 'k', sha256(''), '2026-12-01Z')
                """,
                """
                INSERT INTO audit_head (seal_number, total_count, key_id, mac, created_at)
                VALUES (1, 1, 'k', sha256(''), '2026-12-01Z')
                """,
                "UPDATE audit_head SET seal_number = 2", "SELECT type FROM audit_events", "SELECT mac FROM audit_seals",
            ] {
                try await service.execute(SQL(unsafeSQL: allowed))
            }
            let partitions = try await owner.query(
                "SELECT relid::regclass::text FROM pg_partition_tree('audit_events') WHERE isleaf"
            ) { row throws(PostgresError) in try row.decode(String.self) }
            #expect(partitions.count == 25)
            for table in ["audit_events", "audit_seals"] + partitions {
                for refused in [
                    "UPDATE \(table) SET created_at = now()", "DELETE FROM \(table)", "TRUNCATE \(table)",
                    "ALTER TABLE \(table) DISABLE TRIGGER ALL", "DROP TABLE \(table)",
                ] {
                    await expectRefusal(refused, by: service)
                }
            }
            for refused in [
                "DELETE FROM audit_head", "TRUNCATE audit_head",
                "ALTER TABLE audit_events DETACH PARTITION audit_events_2026_11",
                "ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 2",
                "INSERT INTO audit_events_2026_12 (event_id, type, actor, created_at) VALUES (\(id), 'x', 'person', now())",
            ] {
                await expectRefusal(refused, by: service)
            }
        }
    }

    @Test func `a detached month of the audit trail is out of the service's reach, and nothing lacks`() async throws {
        try await withRole { owner, service, role in
            let migrator = owner.migrator(Migration.embedded, service: ServiceRole(name: role))
            _ = try await migrator.up()
            try await owner.execute("ALTER TABLE audit_events DETACH PARTITION audit_events_2026_11")
            #expect(try await service.migrator(Migration.embedded).privileges().lacking.isEmpty)
            // As releases up to now did.
            try await owner.execute("GRANT UPDATE, DELETE ON audit_events_2026_11 TO \"\(unsafeSQL: role)\"")
            let excess = try await service.migrator(Migration.embedded).privileges().excess
            #expect(excess == ["DELETE on audit_events_2026_11", "UPDATE on audit_events_2026_11"])
            _ = try await migrator.up()
            for refused in [
                "DELETE FROM audit_events_2026_11", "UPDATE audit_events_2026_11 SET created_at = now()",
                "SELECT type FROM audit_events_2026_11",
            ] {
                await expectRefusal(refused, by: service)
            }
            #expect(try await service.migrator(Migration.embedded).privileges().excess.isEmpty)
        }
    }

    private func expectRefusal(_ statement: String, by service: Database) async {
        let error = await #expect(throws: PostgresError.self) {
            try await service.execute(SQL(unsafeSQL: statement))
        }
        #expect(error?.sqlState == "42501", "\(statement)")
    }

    @Test func `up puts privileges right that somebody changed, also when nothing is pending`() async throws {
        try await withRole { owner, service, role in
            _ = try await owner.migrator(Self.migrations).up()
            try await owner.execute("GRANT ALL ON audit_events, audit_events_2026 TO \"\(unsafeSQL: role)\"")
            #expect(try await owner.migrator(Self.migrations, service: ServiceRole(name: role)).up().isEmpty)
            let error = await #expect(throws: PostgresError.self) {
                try await service.execute("DELETE FROM audit_events")
            }
            #expect(error?.sqlState == "42501")
            try await service.execute("INSERT INTO things VALUES (1, 'a')")
        }
    }

    @Test func `a role that doesn't exist is asked for before anything is applied`() async throws {
        try await ScratchDatabase.withEmpty { _, database in
            let fault = await #expect(throws: MigrationFault.self) {
                try await database.migrator(Self.migrations, service: ServiceRole(name: "nobody at all")).up()
            }
            #expect(fault?.description.contains("The role \"nobody at all\" of postgres.url does not exist") == true)
            let status = try await database.migrator(Self.migrations).status()
            #expect(status.map(\.state) == [.pending])
        }
    }

    @Test func `an owner that is the service is granted nothing`() async throws {
        try await ScratchDatabase.withEmpty { _, database in
            let owners = try await database.query("SELECT current_user::text") { row throws(PostgresError) in
                try row.decode(String.self)
            }
            let owner = try #require(owners.first)
            _ = try await database.migrator(Self.migrations, service: ServiceRole(name: owner)).up()
            let granted: SQL =
                "SELECT count(*) FROM pg_class WHERE relname IN ('things', 'audit_events') AND relacl IS NOT NULL"
            #expect(try await database.count(granted) == 0)
        }
    }
}
