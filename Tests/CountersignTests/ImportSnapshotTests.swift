import Foundation
import Postgres
import TestSupport
import Testing

/// What `countersign import` sees of a source that is in service, and what others see of a rehearsal.
@Suite(.timeLimit(.minutes(15))) struct ImportSnapshotTests {
    /// More people than two fetches of the cursor bring.
    private static let tables = """
        CREATE TABLE "user" (id text PRIMARY KEY, name text, email text, "emailVerified" boolean, "createdAt" timestamptz);
        CREATE TABLE account (id text PRIMARY KEY, "accountId" text, "providerId" text, "userId" text, password text,
            "createdAt" timestamptz);
        INSERT INTO "user"
        SELECT 'b' || to_char(n, 'FM0000'), 'Before', 'b' || to_char(n, 'FM0000') || '@example.com', true, '2024-05-06Z'
        FROM generate_series(1, 700) n;
        INSERT INTO account
        SELECT 'a' || u.id, 'before-' || u.id, 'google', u.id, NULL, '2024-05-06Z' FROM "user" u;
        """

    /// Runs the body with a source that has these tables.
    private static func withSource(
        _ tables: String = tables, _ body: (ScratchDatabase, Database) async throws -> Void
    ) async throws {
        try await ScratchDatabase.withFresh { source in
            try await source.withPool(.test(poolSize: 2)) { database in
                try await database.withConnection { try await $0.executeScript(unsafeSQL: tables) }
                try await body(source, database)
            }
        }
    }

    @Test func `what is written to a source while it is read is not seen, and waits for nothing`() async throws {
        try await Self.withSource { source, database in
            try await ScratchDatabase.withMigrated { scratch in
                let run = try ImportUnderWay(scratch, ["better-auth", "--from", source.url])
                try await scratch.withPool(.test(poolSize: 1)) { target in
                    try await target.withConnection { connection in
                        // The first batch waits for one of its addresses, with the first fetch behind it.
                        try await connection.execute("BEGIN")
                        try await connection.execute(
                            """
                            INSERT INTO accounts (account_id, email, created_at)
                            VALUES (gen_random_uuid(), 'b0001@example.com', now())
                            """)
                        try await run.awaitBlocked(by: connection)
                        try await database.withConnection { writer in
                            try await writer.executeScript(
                                unsafeSQL: """
                                    SET lock_timeout = '10s';
                                    UPDATE "user" SET name = 'After', email = 'after-' || email WHERE id > 'b0300';
                                    UPDATE account SET "accountId" = 'after-' || "userId" WHERE "userId" > 'b0300';
                                    DELETE FROM account WHERE "userId" > 'b0600';
                                    DELETE FROM "user" WHERE id > 'b0600';
                                    INSERT INTO "user" VALUES ('c0001', 'After', 'c@example.com', true, '2024-05-06Z');
                                    """)
                        }
                        try await connection.execute("ROLLBACK")
                    }
                }
                let (report, notices) = try await run.end()
                #expect(run.process.terminationStatus == 0, "\(notices)")
                #expect(report.count == 700 && report.allSatisfy { $0.outcome == "created" })
                let found = try await scratch.texts(
                    """
                    SELECT concat_ws(' ', count(*), min(a.display_name), max(a.display_name), min(i.subject), max(i.subject),
                        min(a.email), max(a.email))
                    FROM accounts a
                    JOIN identities i ON i.account_id = a.account_id
                    """)
                #expect(
                    found == ["700 Before Before before-b0001 before-b0700 b0001@example.com b0700@example.com"])

                let next = try await ImportCommandTests.run(["better-auth", "--from", source.url], scratch)
                #expect(next.code == 0, "\(next.errors)")
                let outcomes = try ImportCommandTests.lines(next.output).map(\.words)
                #expect(outcomes.count == 601 && outcomes.last == "601 c0001 created")
            }
        }
    }

    @Test func `a source is read in a transaction that can't write, whatever its tables are`() async throws {
        let tables = """
            CREATE TABLE people (id text PRIMARY KEY, name text, email text, "emailVerified" boolean, "createdAt" timestamptz);
            INSERT INTO people VALUES ('b1', 'Kim', 'kim@example.com', true, '2024-05-06Z');
            CREATE TABLE account (id text PRIMARY KEY, "accountId" text, "providerId" text, "userId" text, password text,
                "createdAt" timestamptz);
            CREATE TABLE readings (at timestamptz);
            CREATE FUNCTION note() RETURNS boolean LANGUAGE sql VOLATILE AS 'INSERT INTO readings VALUES (now()) RETURNING true';
            CREATE VIEW "user" AS SELECT * FROM people WHERE note();
            """
        try await Self.withSource(tables) { source, database in
            try await ScratchDatabase.withMigrated { scratch in
                let run = try await ImportCommandTests.run(["better-auth", "--from", source.url], scratch)
                #expect(run.code == 2 && run.errors.contains("read-only transaction"), "\(run.errors)")
                // Outside of such a transaction it would have been written.
                let count = try await database.query(#"SELECT count(*) FROM "user""#, as: Int.self)
                #expect(count == [1])
            }
        }
    }

    @Test func `Google's identities and passwords can be left out, Apple's and the people come`() async throws {
        let hash = "$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu"
        let tables = """
            CREATE SCHEMA auth;
            CREATE TABLE auth.users (id text PRIMARY KEY, email text, encrypted_password text,
                email_confirmed_at timestamptz, raw_user_meta_data jsonb, created_at timestamptz,
                banned_until timestamptz, deleted_at timestamptz, is_anonymous boolean NOT NULL DEFAULT false);
            CREATE TABLE auth.identities (id text, provider text, provider_id text, user_id text, identity_data jsonb,
                created_at timestamptz);
            INSERT INTO auth.users VALUES
                ('u1', 'kim@example.com', '\(hash)', '2024-01-01Z', '{}', '2024-05-06Z'),
                ('u2', NULL, NULL, NULL, '{}', '2024-05-06Z'), ('u3', 'lee@example.com', '', NULL, '{}', '2024-05-06Z');
            INSERT INTO auth.identities VALUES
                ('i1', 'apple', '001.kim', 'u1', '{}', '2024-05-06Z'), ('i2', 'google', '109', 'u1', '{}', '2024-05-06Z'),
                ('i3', 'google', '110', 'u2', '{}', '2024-05-06Z'), ('i4', 'google', '111', 'u3', '{}', '2024-05-06Z');
            """
        try await Self.withSource(tables) { source, _ in
            try await ScratchDatabase.withMigrated { scratch in
                let run = try await ImportCommandTests.run(
                    [
                        "supabase", "--from", source.url, "--apple-team", "main", "--skip-google", "--skip-passwords",
                    ], scratch)
                #expect(run.code == 1, "\(run.errors)")
                #expect(
                    try ImportCommandTests.lines(run.output).map(\.words) == [
                        "1 u1 created identity_skipped:google password_dropped:bcrypt",
                        "2 u2 refused no_way_in identity_skipped:google", "3 u3 created identity_skipped:google",
                    ])
                #expect(
                    try await scratch.texts(
                        "SELECT concat_ws(':', provider, subject) FROM identities") == ["apple:001.kim"])
                #expect(
                    try await scratch.count("SELECT count(*) FROM accounts WHERE password_hash IS NOT NULL") == 0)
            }
        }
    }

    @Test func `nothing waits for a rehearsal under way, and nobody sees what it rehearses`() async throws {
        try await ScratchDatabase.withMigrated { scratch in
            let run = try ImportUnderWay(scratch, ["ndjson", "-", "--dry-run"])
            // So many that their report has come, and a second batch is waited for.
            try run.write(
                (0..<80).map {
                    #"{"externalId":"u\#($0)","email":"u\#($0)@example.com","identities":[{"provider":"google","subject":"\#($0)"}]}"#
                        + "\n"
                })
            try await scratch.withPool(.test(poolSize: 1)) { database in
                try await database.withConnection { connection in
                    while try await !ImportUnderWay.isTrue(
                        """
                        EXISTS (
                            SELECT FROM pg_stat_activity
                            WHERE datname = current_database() AND query = 'COMMIT' AND state = 'idle'
                                AND pid <> pg_backend_pid())
                        """, connection)
                    {
                        try #require(run.process.isRunning)
                        try await pollingPause()
                    }
                    // The same addresses and subjects, and the heaviest lock that there is.
                    try await connection.executeScript(
                        unsafeSQL: """
                            SET lock_timeout = '10s';
                            BEGIN;
                            LOCK TABLE accounts, identities, imports, imported_rows, audit_events IN ACCESS EXCLUSIVE MODE;
                            INSERT INTO accounts (account_id, email, created_at)
                            SELECT gen_random_uuid(), 'u' || n || '@example.com', now() FROM generate_series(0, 79) n;
                            INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
                            SELECT gen_random_uuid(), account_id, 'google', 'main', substr(split_part(email, '@', 1), 2), now()
                            FROM accounts;
                            COMMIT;
                            """)
                    for table in ["imports", "imported_rows", "audit_events"] as [SQL] {
                        #expect(
                            try await ImportUnderWay.isTrue("NOT EXISTS (SELECT FROM \(table))", connection))
                    }
                }
            }
            run.process.interrupt()
            let (report, _) = try await run.end()
            #expect(report.contains { $0.outcome == "created" })
        }
    }
}
