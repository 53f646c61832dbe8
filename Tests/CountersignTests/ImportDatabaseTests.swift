import Foundation
import Postgres
import TestSupport
import Testing

/// `countersign import` from live databases of other systems, whose tables are as their own migrations make them.
@Suite struct ImportDatabaseTests {
    /// Runs an import from a database with these tables, and compares the accounts and the report with what is expected.
    private func expect(
        _ source: String, _ tables: String, options: [String] = [], report: [String], accounts: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await ScratchDatabase.withFresh { other in
            try await other.withPool(.test(poolSize: 1)) { database in
                try await database.withConnection { try await $0.executeScript(unsafeSQL: tables) }
            }
            try await ScratchDatabase.withMigrated { scratch in
                let words = [source, "--from", other.url, "--apple-team", "main"] + options
                let rehearsed = try await ImportCommandTests.run(words + ["--dry-run"], scratch)
                let run = try await ImportCommandTests.run(words, scratch)
                #expect(try Self.results(run) == report, "\(run.errors)", sourceLocation: sourceLocation)
                // Of what is refused here nobody is missed.
                #expect(run.code == 0 && rehearsed.code == 0, "\(run.errors)", sourceLocation: sourceLocation)
                #expect(try Self.results(rehearsed) == report, "\(rehearsed.errors)", sourceLocation: sourceLocation)
                let found = try await ImportCommandTests.accounts(in: scratch)
                #expect(found == accounts, sourceLocation: sourceLocation)
            }
        }
    }

    private static func results(_ run: FinishedProcess) throws -> [String] {
        try ImportCommandTests.lines(run.output).map(\.result)
    }

    private static let bcrypt = "$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu"

    @Test(arguments: [true, false]) func `Supabase, before November 2023 and since`(_ isOld: Bool) async throws {
        let subject =
            isOld ? "id text, provider text" : "id uuid DEFAULT gen_random_uuid(), provider text, provider_id text"
        let column = isOld ? "id" : "provider_id"
        // Deeper than a row may be.
        let nested = String(repeating: "[", count: 12) + String(repeating: "]", count: 12)
        try await expect(
            "supabase",
            """
            CREATE SCHEMA auth;
            CREATE TABLE auth.users (id uuid PRIMARY KEY, email text, encrypted_password text, email_confirmed_at timestamptz,
                raw_user_meta_data jsonb, created_at timestamptz, banned_until timestamptz, deleted_at timestamptz,
                is_anonymous boolean NOT NULL DEFAULT false, raw_app_meta_data jsonb DEFAULT '{"roles":\(nested)}');
            CREATE TABLE auth.identities (\(subject), user_id uuid, identity_data jsonb, created_at timestamptz);
            INSERT INTO auth.users VALUES
                ('00000000-0000-0000-0000-000000000001', 'kim@example.com', '\(Self.bcrypt)', '2024-01-01Z',
                    '{"full_name":"Kim","settings":\(nested)}', '2024-05-06T07:08:09Z', NULL, NULL),
                ('00000000-0000-0000-0000-000000000002', 'lee@example.com', '', NULL,
                    '{"full_name":{"first":"Lee"},"name":"Lee"}', '2024-05-06T07:08:10Z',
                    '2999-01-01Z', NULL),
                ('00000000-0000-0000-0000-000000000003', 'gone@example.com', NULL, NULL, '{}', '2024-05-06T07:08:11Z', NULL,
                    '2024-06-01Z'),
                ('00000000-0000-0000-0000-000000000004', 'ada@example.com', '{"key_id":"x"}', '2024-01-01Z', '{}',
                    '2024-05-06T07:08:12Z', '2024-06-01Z', NULL);
            INSERT INTO auth.users (id, created_at, is_anonymous)
                VALUES ('00000000-0000-0000-0000-000000000005', '2024-05-06T07:08:13Z', true);
            INSERT INTO auth.identities (\(column), provider, user_id, identity_data, created_at) VALUES
                ('001.kim', 'apple', '00000000-0000-0000-0000-000000000001', '{"sub":"001.kim"}', '2024-05-06Z'),
                ('109', 'google', '00000000-0000-0000-0000-000000000001', '{"sub":"109","email":"kim@gmail.com","custom_claims":\(nested)}',
                    '2024-05-06Z'),
                ('x', 'email', '00000000-0000-0000-0000-000000000002', '{}', '2024-05-06Z'),
                ('7', 'github', '00000000-0000-0000-0000-000000000002', '{}', '2024-05-06Z'),
                ('001.ada', 'custom:siwa', '00000000-0000-0000-0000-000000000004', '{}', '2024-05-06Z');
            """, options: ["--provider-alias", "custom:siwa=apple"],
            report: [
                "00000000-0000-0000-0000-000000000001 created",
                "00000000-0000-0000-0000-000000000002 created identity_skipped:github",
                "00000000-0000-0000-0000-000000000003 refused deleted",
                "00000000-0000-0000-0000-000000000004 created password_dropped:encrypted",
                "00000000-0000-0000-0000-000000000005 refused anonymous",
            ],
            accounts: [
                "00000000-0000-0000-0000-000000000001 kim@example.com stated Kim active 2024-05-06 07:08:09 apple:001.kim google:109 "
                    + "$2y$04$mIJxfrC",
                "00000000-0000-0000-0000-000000000002 lee@example.com claimed Lee disabled 2024-05-06 07:08:10",
                "00000000-0000-0000-0000-000000000004 ada@example.com stated active 2024-05-06 07:08:12 apple:001.ada",
            ])
    }

    @Test func `django-allauth`() async throws {
        try await expect(
            "allauth",
            """
            CREATE TABLE auth_user (id integer PRIMARY KEY, password varchar(128), is_active boolean, username varchar(150),
                first_name varchar(150), last_name varchar(150), email varchar(254), date_joined timestamptz);
            CREATE TABLE account_emailaddress (id integer PRIMARY KEY, email varchar(254), verified boolean, "primary" boolean,
                user_id integer);
            CREATE TABLE socialaccount_socialaccount (id integer PRIMARY KEY, provider varchar(200), uid varchar(191),
                last_login timestamptz, date_joined timestamptz, extra_data jsonb, user_id integer);
            INSERT INTO auth_user VALUES
                (1, 'pbkdf2_sha256$390000$seasalt$8xBlGd3jVgvJ+92hWPxi5ww0uuAuAnKgC45eudxro7c=', true, 'kim', 'Kim', 'Example',
                    'kim@old.example', '2024-05-06T07:08:09Z'),
                (2, '!unusable', false, 'lee', '', '', 'lee@example.com', '2024-05-06T07:08:10Z');
            INSERT INTO account_emailaddress VALUES (1, 'other@example.com', true, false, 1), (2, 'kim@example.com', true, true, 1);
            INSERT INTO socialaccount_socialaccount VALUES
                (1, 'google', '109', '2024-05-06Z', '2024-05-06Z', '{"email":"kim@gmail.com","email_verified":true}', 1),
                (2, 'siwa', '001.kim', '2024-05-06Z', '2024-05-06Z', '"{}"', 1),
                (3, 'github', '7', '2024-05-06Z', '2024-05-06Z', '{}', 2);
            """, options: ["--provider-alias", "siwa=apple"],
            report: ["1 created", "2 created identity_skipped:github"],
            accounts: [
                "1 kim@example.com stated Kim Example active 2024-05-06 07:08:09 apple:001.kim google:109 pbkdf2_sha256$",
                "2 lee@example.com claimed disabled 2024-05-06 07:08:10",
            ])
    }

    @Test(arguments: [true, false]) func `better-auth, with capitals and with underscores`(_ isCapital: Bool)
        async throws
    {
        func name(_ capital: String, _ plain: String) -> String { isCapital ? "\"\(capital)\"" : plain }
        let hash = "000102030405060708090a0b0c0d0e0f:" + String(repeating: "0a", count: 64)
        try await expect(
            "better-auth",
            """
            CREATE TABLE "user" (id text PRIMARY KEY, name text, email text, \(name("emailVerified", "email_verified")) boolean,
                \(name("createdAt", "created_at")) timestamp, banned boolean, \(name("banExpires", "ban_expires")) timestamp);
            CREATE TABLE account (id text PRIMARY KEY, \(name("accountId", "account_id")) text,
                \(name("providerId", "provider_id")) text, \(name("userId", "user_id")) text, password text,
                \(name("createdAt", "created_at")) timestamp);
            INSERT INTO "user" VALUES
                ('b1', 'Kim', 'kim@example.com', true, '2024-05-06T07:08:09.123', true, '2024-05-07'),
                ('b2', 'Lee', 'lee@example.com', false, '2024-05-06T07:08:10', true, NULL);
            INSERT INTO account VALUES ('a1', '001.kim', 'apple', 'b1', NULL, '2024-05-06'),
                ('a2', 'b1', 'credential', 'b1', '\(hash)', '2024-05-06'), ('a3', '7', 'github', 'b2', NULL, '2024-05-06'),
                ('a4', '109', 'workspace', 'b2', NULL, '2024-05-06');
            """, options: ["--provider-alias", "workspace=google"],
            report: ["b1 created", "b2 created identity_skipped:github"],
            accounts: [
                "b1 kim@example.com stated Kim active 2024-05-06 07:08:09 apple:001.kim 00010203040506",
                "b2 lee@example.com claimed Lee disabled 2024-05-06 07:08:10 google:109",
            ])
    }

    @Test func `a database that is another's, or a URL that shows a password, ends with 2`() async throws {
        try await ScratchDatabase.withMigrated { scratch in
            for (words, sentence) in [
                (["supabase", "--from", scratch.url], "none of Supabase"),
                (["allauth", "--from", scratch.url], "user model"),
                (["better-auth", "--from", scratch.url], "none of better-auth"),
                (["supabase", "--from", "postgres://kim:secret@127.0.0.1/x"], "PGPASSFILE"),
                (["supabase", "--from", "host=127.0.0.1 password=secret"], "PGPASSFILE"),
                (["supabase", "--from", "postgres://kim@db.example/x"], "sslmode"), (["supabase"], "--from"),
                (["supabase", "--from", "postgres://kim@127.0.0.1:1/x"], "The source's database can't be read"),
                (["ndjson", "-", "--from", scratch.url], "--from"), (["supabase", "/nowhere"], "can't be read"),
                (["keycloak", "-", "--provider-alias", "x=github"], "provider-alias"),
                (["firebase", "-", "--provider-alias", "x=apple"], "--provider-alias is not for firebase"),
            ] {
                let run = try await ImportCommandTests.run(words, scratch)
                #expect(run.code == 2, "\(words): \(run.errors)")
                #expect(run.errors.contains(sentence), "\(words): \(run.errors)")
                #expect(!run.errors.contains("secret"))
            }
        }
    }

    @Test func `rows of any length come whole, and of one that is too long the id`() async throws {
        try await ScratchDatabase.withFresh { other in
            try await other.withPool(.test(poolSize: 1)) { database in
                try await database.withConnection {
                    try await $0.executeScript(
                        unsafeSQL: """
                            CREATE TABLE "user" (id text PRIMARY KEY, name text, email text, "emailVerified" boolean,
                                "createdAt" timestamptz, image text);
                            CREATE TABLE account (id text PRIMARY KEY, "accountId" text, "providerId" text, "userId" text,
                                password text, "createdAt" timestamptz);
                            INSERT INTO "user"
                            SELECT 'b' || length, 'Kïm ' || length, 'b' || length || '@example.com', true,
                                '2024-05-06T07:08:09Z', repeat('ä', length)
                            FROM unnest(ARRAY[1, 16200, 16384, 40000, 500000, 530000]) AS l (length)
                            """)
                }
            }
            try await ScratchDatabase.withMigrated { scratch in
                let run = try await ImportCommandTests.run(["better-auth", "--from", other.url], scratch)
                #expect(
                    try Self.results(run) == [
                        "b1 created", "b16200 created", "b16384 created", "b40000 created", "b500000 created",
                        "b530000 refused row_malformed",
                    ], "\(run.errors)")
                let names = try await scratch.texts("SELECT display_name FROM accounts ORDER BY external_id")
                #expect(names == ["Kïm 1", "Kïm 16200", "Kïm 16384", "Kïm 40000", "Kïm 500000"])
            }
        }
    }

    @Test func `a database is named in a file of the owner's alone, and in no other`() async throws {
        try await ScratchDatabase.withMigrated { scratch in
            let directory = try ScratchDirectory()
            defer { directory.remove() }
            for (mode, sentence) in [(0o600, "none of Supabase"), (0o640, "0600")] {
                let file = try directory.write("url", "\(scratch.url)\n", mode: mode)
                let run = try await ImportCommandTests.run(["supabase", file], scratch)
                #expect(run.code == 2 && run.errors.contains(sentence), "\(run.errors)")
            }
            // What people export instead, of whatever mode.
            let file = try directory.write("users.csv", "id,email\n1,kim@example.com\n", mode: 0o644)
            let run = try await ImportCommandTests.run(["supabase", file], scratch)
            #expect(run.code == 2 && run.errors.contains("neutral rows"), "\(run.errors)")
            #expect(!run.errors.contains("kim@"), "\(run.errors)")
        }
    }
}
