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
        try await OtherSystem.run(tables) { other, _ in
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

    /// Deeper than a row may be.
    private static let nested = String(repeating: "[", count: 12) + String(repeating: "]", count: 12)

    @Test(arguments: [true, false]) func `Supabase, before November 2023 and since`(_ isOld: Bool) async throws {
        let subject =
            isOld ? "id text, provider text" : "id uuid DEFAULT gen_random_uuid(), provider text, provider_id text"
        let hash = "$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu"
        let column = isOld ? "id" : "provider_id"
        let values = ["subject": subject, "column": column, "nested": Self.nested, "hash": hash]
        try await expect(
            "supabase", OtherSystem.tables("supabase", values), options: ["--provider-alias", "custom:siwa=apple"],
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

    /// - Parameter json: the type of `extra_data`, which was a text once.
    @Test(arguments: ["jsonb", "text"]) func `django-allauth`(_ json: String) async throws {
        try await expect(
            "allauth", Self.allauth(json), options: ["--provider-alias", "siwa=apple"],
            report: ["1 created", "2 created identity_skipped:github identity_skipped:discord identity_skipped:steam"],
            accounts: [
                "1 kim@example.com stated Kim Example active 2024-05-06 07:08:09 apple:001.kim google:109 pbkdf2_sha256$",
                "2 lee@example.com claimed disabled 2024-05-06 07:08:10",
            ])
    }

    private static func allauth(_ json: String) throws -> String {
        try OtherSystem.tables("allauth", ["json": json, "nested": nested])
    }

    @Test(arguments: ["jsonb", "text"])
    func `of what a provider has sent to django-allauth its address comes along`(_ json: String) async throws {
        try await OtherSystem.run(Self.allauth(json)) { other, _ in
            try await ScratchDatabase.withMigrated { scratch in
                let run = try await ImportCommandTests.run(["allauth", "--from", other.url], scratch)
                #expect(run.code == 0, "\(run.errors)")
                let found = try await scratch.texts(
                    "SELECT concat_ws(' ', subject, email, email_verified) FROM identities ORDER BY subject")
                #expect(found == ["109 kim@gmail.com t"])
            }
        }
    }

    @Test(arguments: [true, false]) func `better-auth, with capitals and with underscores`(_ isCapital: Bool)
        async throws
    {
        let columns = [
            "emailVerified": "email_verified", "createdAt": "created_at", "banExpires": "ban_expires",
            "accountId": "account_id", "providerId": "provider_id", "userId": "user_id",
        ]
        let names = Dictionary(uniqueKeysWithValues: columns.map { ($0, isCapital ? "\"\($0)\"" : $1) })
        let hash = "000102030405060708090a0b0c0d0e0f:" + String(repeating: "0a", count: 64)
        let tables = try OtherSystem.tables("better-auth", names.merging(["hash": hash]) { $1 })
        try await expect(
            "better-auth", tables, options: ["--provider-alias", "workspace=google"],
            report: ["b1 created", "b2 created identity_skipped:github"],
            accounts: [
                "b1 kim@example.com stated Kim active 2024-05-06 07:08:09 apple:001.kim 00010203040506",
                "b2 lee@example.com claimed Lee disabled 2024-05-06 07:08:10 google:109",
            ])
    }

    @Test(.timeLimit(.minutes(5)))
    func `the accounts of better-auth are read once, also where no index finds those of a person`() async throws {
        try await OtherSystem.run(OtherSystem.tables("more-than-two-fetches")) { other, database in
            try await ScratchDatabase.withMigrated { scratch in
                let run = try await ImportCommandTests.run(["better-auth", "--from", other.url], scratch).ended()
                #expect(run.errors.contains("created 700"), "\(run.errors)")
                // The connection hands its counts in when it ends.
                var read: Int64
                repeat {
                    try await pollingPause()
                    read = try await database.query(
                        "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'account'", as: Int64.self)[0]
                } while read == 0
                #expect(read == 700)
            }
        }
    }

    @Test func `a policy that would hide people or identities ends with 2, and a role that no policy meets reads all`()
        async throws
    {
        try await OtherSystem.run(OtherSystem.tables("google-and-passwords")) { other, _ in
            try await ScratchDatabase.withMigrated { scratch in
                let role = "reader_" + UUID().uuidString.replacing("-", with: "").lowercased()
                try await other.execute(
                    "CREATE ROLE \(unsafeSQL: role) LOGIN", "GRANT USAGE ON SCHEMA auth TO \(unsafeSQL: role)",
                    "GRANT SELECT ON ALL TABLES IN SCHEMA auth TO \(unsafeSQL: role)")
                let url = other.url + (other.url.contains("?") ? "&" : "?") + "user=\(role)"
                let words = ["supabase", "--from", url, "--apple-team", "main"]
                for table in ["users", "identities"] {
                    try await other.execute("ALTER TABLE auth.\(unsafeSQL: table) ENABLE ROW LEVEL SECURITY")
                    let run = try await ImportCommandTests.run(words, scratch)
                    #expect(run.code == 2 && run.output.isEmpty, "\(run.errors)")
                    #expect(run.errors.contains("policy for table \"\(table)\""), "\(run.errors)")
                    #expect(run.errors.contains("BYPASSRLS"), "\(run.errors)")
                    try await other.execute("ALTER TABLE auth.\(unsafeSQL: table) DISABLE ROW LEVEL SECURITY")
                }
                try await other.execute(
                    "ALTER TABLE auth.users ENABLE ROW LEVEL SECURITY",
                    "ALTER TABLE auth.identities ENABLE ROW LEVEL SECURITY", "ALTER ROLE \(unsafeSQL: role) BYPASSRLS")
                let run = try await ImportCommandTests.run(words, scratch)
                try await other.execute("DROP OWNED BY \(unsafeSQL: role)", "DROP ROLE \(unsafeSQL: role)")
                #expect(try Self.results(run) == ["u1 created", "u2 created", "u3 created"], "\(run.errors)")
                #expect(try await scratch.count("SELECT count(*) FROM identities") == 4)
            }
        }
    }

    @Test func `a fault of a source's rows is named, and what may quote a value by its SQLSTATE`() async throws {
        try await OtherSystem.run(OtherSystem.tables("google-and-passwords")) { other, _ in
            try await ScratchDatabase.withMigrated { scratch in
                try await other.execute(#"ALTER TABLE auth.users ADD notes json DEFAULT '"canary\u0000"'"#)
                let run = try await ImportCommandTests.run(["supabase", "--from", other.url], scratch)
                #expect(run.code == 2 && run.errors.contains("SQLSTATE 22P05"), "\(run.errors)")
                #expect(!run.errors.contains("canary"), "\(run.errors)")
            }
        }
    }

    @Test func `a database that is another's, or a URL that shows a password, ends with 2`() async throws {
        try await ScratchDatabase.withMigrated { scratch in
            for (words, sentence) in [
                (["supabase", "--from", scratch.url], "none of Supabase"),
                (["allauth", "--from", scratch.url], "user model"),
                (["better-auth", "--from", scratch.url], "none of better-auth"),
                (["supabase", "--from", "postgres://kim:secret@127.0.0.1/x"], "PGPASSFILE"),
                (["supabase", "--from", "host=127.0.0.1 password=secret"], "PGPASSFILE"),
                (["supabase", "--from", "nonsense"], "--from can't be read: it is postgres://"),
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
        try await OtherSystem.run(OtherSystem.tables("long-rows")) { other, _ in
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
