import Migrator
import Postgres
import TestSupport
import Testing

/// Migration 0036, which marks the passwords that an import has brought and nobody has used.
@Suite struct UnusedPasswordMigrationTests {
    @Test func `what an import has brought counts as unused, unless a hash of ours stands there`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let migrator = Migrator(database: database, logger: .silent)
            _ = try await migrator.down(steps: Migration.embedded.count { $0.version > 35 })
            try await database.execute(
                """
                INSERT INTO accounts (account_id, email, external_id, password_hash, created_at)
                SELECT gen_random_uuid(), a.email, a.external_id, a.hash, now()
                FROM (VALUES ('imported', 'u1', '$2b$10$x'), ('replaced', 'u2', '$scrypt$ln=17,r=8,p=1$x$y'),
                    ('none', 'u3', NULL), ('own', NULL, '$scrypt$ln=17,r=8,p=1$x$y')) AS a (email, external_id, hash)
                """)
            _ = try await migrator.up()
            let unused = try await database.query("SELECT email FROM accounts WHERE password_is_unused") {
                row throws(PostgresError) in try row.decode(String.self)
            }
            #expect(unused == ["imported"])
        }
    }
}
