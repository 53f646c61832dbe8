import Postgres
import TestSupport
import Testing

@testable import Migrator

/// The function by which the service has partitions of the audit trail made: it is the service's to call, and gives it
/// nothing else.
extension ServiceRoleTests {
    /// The first moment of the month that is this many after the present one, by the database's clock, as an expression.
    private static func begin(_ months: Int) -> String {
        "((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '\(months) months') AT TIME ZONE 'UTC')"
    }

    /// The name of that month's partition, while the present month lasts.
    private static func partition(_ months: Int, in database: Database) async throws -> String {
        try await database.awaitLastingMonth()
        return try await database.query(
            "SELECT 'audit_events_' || to_char(\(unsafeSQL: begin(months)) AT TIME ZONE 'UTC', 'YYYY_MM')",
            as: String.self)[0]
    }

    private static func insertion(at time: String) -> SQL {
        """
        INSERT INTO audit_events (event_id, type, actor, created_at)
        VALUES (gen_random_uuid(), 'x', 'person', \(unsafeSQL: time))
        """
    }

    /// The names that it answers with.
    private static let make: SQL = "SELECT partition_name FROM make_audit_partitions() WHERE outcome = 'made'"

    @Test func `partitions that the service has made are as closed to it as the others`() async throws {
        try await withRole(migratedTo: Migration.embedded.count) { owner, service, role in
            _ = try await owner.migrator(Migration.embedded, service: ServiceRole(name: role)).up()
            // With these a table is the service's to write from its creation on.
            try await owner.execute("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO \"\(unsafeSQL: role)\"")
            let month = try await Self.partition(2, in: owner)
            try await owner.execute("DROP TABLE IF EXISTS \(unsafeSQL: month)")
            let made = try await service.query(Self.make, as: String.self)
            #expect(made.contains(month))
            try await service.execute(Self.insertion(at: Self.begin(2)))
            #expect(try await owner.count("SELECT count(*) FROM \(unsafeSQL: month)") == 1)
            await expectRefusal(
                "SELECT type FROM \(month)", "UPDATE \(month) SET type = 'y'", "DELETE FROM \(month)",
                "TRUNCATE \(month)", "DROP TABLE \(month)",
                "INSERT INTO \(month) (event_id, type, actor, created_at) VALUES (gen_random_uuid(), 'x', 'person', now())",
                "ALTER TABLE audit_events DETACH PARTITION \(month)", "ALTER TABLE \(month) DISABLE TRIGGER ALL",
                "CREATE TABLE mine ()",
                "CREATE TABLE mine PARTITION OF audit_events FOR VALUES FROM ('2020-01-01Z') TO (now())",
                "DELETE FROM audit_events", "DROP FUNCTION make_audit_partitions()",
                "ALTER FUNCTION make_audit_partitions() SET search_path = pg_temp",
                "CREATE OR REPLACE FUNCTION make_audit_partitions() RETURNS int LANGUAGE sql AS 'SELECT 1'",
                by: service)
            let privileges = try await service.migrator(Migration.embedded).privileges()
            #expect(privileges.lacking.isEmpty)
            #expect(privileges.excess.isEmpty)
        }
    }

    @Test func `a database that has another form of the function is accepted, and gets this one`() async throws {
        let mend = try #require(Migration.embedded.first { $0.name == "mend_audit_partitions" })
        for form in mend.up.mended {
            try await withRole(migratedTo: mend.version - 1) { owner, service, role in
                let migrator = owner.migrator(Migration.embedded, service: ServiceRole(name: role))
                try await owner.execute("ALTER FUNCTION make_audit_partitions() SET search_path = pg_catalog, public")
                try await owner.execute(
                    """
                    UPDATE schema_migrations SET checksum = \(form.checksum) WHERE version = \(Int32(form.version))
                    """)
                _ = try await migrator.up()
                #expect(try await migrator.verify().isEmpty)
                #expect(
                    try await owner.count(
                        """
                        SELECT count(*) FROM pg_proc
                        WHERE proname = 'make_audit_partitions' AND 'search_path=pg_catalog, pg_temp' = ANY (proconfig)
                        """) == 1)
                try await service.execute(Self.make)
            }
        }
    }

    @Test func `partitions are made by whom the function is granted to`() async throws {
        try await withRole(migratedTo: Migration.embedded.count) { owner, service, role in
            await expectRefusal("SELECT make_audit_partitions()", by: service)
            let lacking = try await service.migrator(Migration.embedded).privileges().lacking
            #expect(lacking.contains("EXECUTE on make_audit_partitions()"))
            _ = try await owner.migrator(Migration.embedded, service: ServiceRole(name: role)).up()
            try await service.execute("SELECT make_audit_partitions()")
            #expect(try await service.migrator(Migration.embedded).privileges().lacking.isEmpty)
        }
    }

    /// The rights are the owner's, so nothing that the caller can set may decide what is done with them.
    @Test func `what the caller's session says changes nothing of what is made`() async throws {
        try await withRole(migratedTo: Migration.embedded.count) { owner, service, role in
            _ = try await owner.migrator(Migration.embedded, service: ServiceRole(name: role)).up()
            let month = try await Self.partition(2, in: owner)
            try await owner.execute("DROP TABLE IF EXISTS \(unsafeSQL: month)")
            let made = try await service.withConnection { connection in
                for statement in [
                    // Times are written in a way in which they read as others.
                    "SET datestyle = 'German'", "SET timezone = 'Asia/Kolkata'", "SET search_path = pg_temp, public",
                    "CREATE TEMP TABLE audit_events (created_at timestamptz) PARTITION BY RANGE (created_at)",
                    "CREATE TEMP TABLE audit_events_default PARTITION OF audit_events DEFAULT",
                    "CREATE TEMP TABLE pg_inherits (inhparent oid, inhrelid oid)",
                    "CREATE FUNCTION pg_temp.format(text, text, text) RETURNS text LANGUAGE sql AS $$ SELECT 'DROP TABLE accounts' $$",
                ] { try await connection.execute(SQL(unsafeSQL: statement)) }
                return try await connection.query(
                    "SELECT partition_name FROM public.make_audit_partitions() WHERE outcome = 'made'", as: String.self)
            }
            #expect(made.contains(month))
            try await owner.execute(Self.insertion(at: Self.begin(2)))
            try await owner.execute(Self.insertion(at: Self.begin(3) + " - interval '1 microsecond'"))
            #expect(try await owner.count("SELECT count(*) FROM \(unsafeSQL: month)") == 2)
        }
    }

    /// As in a database from before PostgreSQL 15, where everybody may create objects in `public`.
    @Test func `what the service has put into the schema is not called with the owner's rights`() async throws {
        try await withRole(migratedTo: Migration.embedded.count) { owner, service, role in
            _ = try await owner.migrator(Migration.embedded, service: ServiceRole(name: role)).up()
            try await owner.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
            let month = try await Self.partition(2, in: owner)
            try await owner.execute("DROP TABLE IF EXISTS \(unsafeSQL: month)")
            // It fits the call better than the server's own.
            try await service.execute(
                """
                CREATE FUNCTION public.hashtextextended(text, integer) RETURNS bigint LANGUAGE plpgsql AS $$
                BEGIN
                    EXECUTE 'GRANT DELETE ON public.audit_events TO "\(unsafeSQL: role)"';
                    RETURN 0;
                END
                $$
                """)
            let made = try await service.query(Self.make, as: String.self)
            #expect(made.contains(month))
            await expectRefusal("DELETE FROM audit_events", by: service)
        }
    }

    /// Casts have no schema, so that no search path keeps one away whose type is the caller's.
    @Test func `a trigger of ours can't be hung on a table of the service's own`() async throws {
        try await withRole(migratedTo: Migration.embedded.count) { owner, service, role in
            let migrator = owner.migrator(Migration.embedded, service: ServiceRole(name: role))
            let triggers = try await owner.query(
                """
                SELECT oid::regprocedure::text FROM pg_proc
                WHERE pronamespace = current_schema()::regnamespace AND prorettype = 'trigger'::regtype
                """, as: String.self)
            #expect(!triggers.isEmpty)
            for function in triggers {
                try await owner.execute(
                    "GRANT EXECUTE ON FUNCTION \(unsafeSQL: function) TO PUBLIC, \"\(unsafeSQL: role)\"")
            }
            let excess = try await service.migrator(Migration.embedded).privileges().excess
            #expect(excess == triggers.map { "EXECUTE on \($0)" })
            _ = try await migrator.up()
            #expect(try await service.migrator(Migration.embedded).privileges().excess.isEmpty)
            for function in triggers {
                let error = await #expect(throws: PostgresError.self) {
                    try await service.withConnection { connection in
                        try await connection.execute("CREATE TEMP TABLE bait (account_id uuid, type text)")
                        try await connection.execute(
                            """
                            CREATE TRIGGER bait AFTER INSERT ON bait REFERENCING NEW TABLE AS recorded
                            FOR EACH STATEMENT EXECUTE FUNCTION \(unsafeSQL: function)
                            """)
                    }
                }
                #expect(error?.sqlState == "42501", "\(function)")
            }
            // It runs for every writer of the table.
            try await service.execute(Self.insertion(at: "now()"))
        }
    }

    @Test func `partitions that were made outlive the migration that is taken back`() async throws {
        try await ScratchDatabase.withEmbedded { _, database in
            let migrator = database.migrator(Migration.embedded)
            let month = try await Self.partition(2, in: database)
            try await database.execute("DROP TABLE IF EXISTS \(unsafeSQL: month)")
            try await database.execute("SELECT make_audit_partitions()")
            try await database.execute(Self.insertion(at: Self.begin(2)))
            _ = try await migrator.down(steps: Migration.embedded.count - 25)
            #expect(
                try await database.count("SELECT count(*) FROM pg_proc WHERE proname = 'make_audit_partitions'") == 0)
            #expect(try await database.count("SELECT count(*) FROM \(unsafeSQL: month)") == 1)
            _ = try await migrator.up()
            #expect(try await database.count("SELECT count(*) FROM make_audit_partitions()") == 0)
        }
    }
}
