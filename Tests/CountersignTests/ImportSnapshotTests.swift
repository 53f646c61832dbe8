import Foundation
import Postgres
import TestSupport
import Testing

/// What `countersign import` sees of a source that is in service, and what others see of a rehearsal.
@Suite(.timeLimit(.minutes(15))) struct ImportSnapshotTests {
    @Test func `what is written to a source while it is read is not seen, and waits for nothing`() async throws {
        try await OtherSystem.run(OtherSystem.tables("more-than-two-fetches")) { source, database in
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
                #expect(found == ["700 Before Before before-b0001 before-b0700 b0001@example.com b0700@example.com"])

                let next = try await ImportCommandTests.run(["better-auth", "--from", source.url], scratch).ended()
                let outcomes = try ImportCommandTests.lines(next.output).map(\.words)
                #expect(outcomes.count == 601 && outcomes.last == "601 c0001 created")
            }
        }
    }

    @Test func `a source is read in a transaction that can't write, whatever its tables are`() async throws {
        try await OtherSystem.run(OtherSystem.tables("volatile-view")) { source, database in
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
        try await OtherSystem.run(OtherSystem.tables("google-and-passwords")) { source, _ in
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
                #expect(try await scratch.count("SELECT count(*) FROM accounts WHERE password_hash IS NOT NULL") == 0)
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
                    try await run.wait {
                        try await ImportUnderWay.isTrue(
                            """
                            EXISTS (
                                SELECT FROM pg_stat_activity
                                WHERE datname = current_database() AND query = 'COMMIT' AND state = 'idle'
                                    AND pid <> pg_backend_pid())
                            """, connection)
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
                        #expect(try await ImportUnderWay.isTrue("NOT EXISTS (SELECT FROM \(table))", connection))
                    }
                }
            }
            run.process.interrupt()
            let (report, _) = try await run.end()
            #expect(report.contains { $0.outcome == "created" })
        }
    }
}
