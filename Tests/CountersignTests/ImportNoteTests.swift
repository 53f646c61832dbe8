import Postgres
import TestSupport
import Testing

/// The notes of `countersign import` about what a row meets here.
@Suite(.fixture(ScratchDatabase.self)) struct ImportNoteTests {
    var scratch: ScratchDatabase { .current }

    /// Runs an import, after a rehearsal that has to report the same.
    private func run(
        _ name: String, _ rows: [String], options: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        let words = ["ndjson", "-", "--id", name] + options
        let input = rows.joined(separator: "\n")
        let rehearsed = try await ImportCommandTests.run(words + ["--dry-run"], scratch, input: input)
        let run = try await ImportCommandTests.run(words, scratch, input: input)
        let found = try ImportCommandTests.lines(run.output).map(\.words)
        let expected = try ImportCommandTests.lines(rehearsed.output).map(\.words)
        #expect(found == expected, "\(run.errors)", sourceLocation: sourceLocation)
        return found
    }

    @Test func `a conflict over an address says where nobody has proven it, here or in the source`() async throws {
        _ = try await run(
            "one",
            [
                #"{"externalId":"a","email":"a@example.com","emailVerified":true}"#,
                #"{"externalId":"b","email":"b@example.com"}"#,
            ])
        // As a registration here leaves it, and as a release before degrees did.
        try await scratch.execute(
            """
            INSERT INTO accounts (account_id, email, email_verified, email_proof, created_at) VALUES
                (gen_random_uuid(), 'c@example.com', false, 'claimed', now()),
                (gen_random_uuid(), 'd@example.com', false, 'stated', now()),
                (gen_random_uuid(), 'e@example.com', true, 'proven', now())
            """)
        let rows = ["a", "b", "c", "d", "e"].flatMap { letter in
            [
                #"{"externalId":"\#(letter)1","email":"\#(letter)@example.com","emailVerified":true}"#,
                #"{"externalId":"\#(letter)2","email":"\#(letter)@example.com"}"#,
            ]
        }
        let inSource = [
            #"{"externalId":"f","email":"f@example.com"}"#,
            #"{"externalId":"f1","email":"f@example.com","emailVerified":true}"#,
        ]
        #expect(
            try await run("two", rows + inSource) == [
                "1 a1 conflict email_taken", "2 a2 conflict email_taken row_claimed",
                "3 b1 conflict email_taken holder_claimed", "4 b2 conflict email_taken holder_claimed row_claimed",
                "5 c1 conflict email_taken holder_claimed", "6 c2 conflict email_taken holder_claimed row_claimed",
                "7 d1 conflict email_taken holder_claimed", "8 d2 conflict email_taken holder_claimed row_claimed",
                "9 e1 conflict email_taken", "10 e2 conflict email_taken row_claimed", "11 f created",
                "12 f1 conflict email_taken holder_claimed holder_imported",
            ])
    }

    @Test func `a conflict with another row of the import, or with another subject of a provider, is no pair`()
        async throws
    {
        func row(_ id: String, _ address: String, _ more: String = #","emailVerified":true"#) -> String {
            #"{"externalId":"\#(id)","email":"\#(address)@firm.example"\#(more)}"#
        }
        // One has the mailbox of another in a later export, while that one is deleted there, or has another address.
        #expect(try await run("shop", [row("x", "info"), row("z", "desk")]) == ["1 x created", "2 z created"])
        try await scratch.execute("UPDATE imported_rows SET is_touched = true")
        #expect(
            try await run("shop", [row("y", "info"), row("z", "other"), row("w", "desk")]) == [
                "1 y conflict email_taken holder_imported", "2 z unchanged differs:email",
                "3 w conflict email_taken holder_imported",
            ])
        // In one export, whose addresses differ in case alone.
        #expect(
            try await run("forum", [row("1", "A", ""), row("2", "a")])
                == ["1 1 created", "2 2 conflict email_taken holder_claimed holder_imported"])

        try await scratch.execute(
            """
            WITH a AS (
                INSERT INTO accounts (account_id, email, email_verified, email_proof, created_at)
                VALUES (gen_random_uuid(), 'kim@firm.example', true, 'proven', now())
                RETURNING account_id
            )
            INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
            SELECT account_id, account_id, 'google', 'main', '222', now()
            FROM a
            """)
        func linked(_ provider: String, _ subject: String) -> String {
            #","emailVerified":true,"identities":[{"provider":"\#(provider)","subject":"\#(subject)"}]"#
        }
        #expect(
            try await run(
                "crm",
                [
                    row("1", "kim", linked("google", "111")), row("2", "kim", linked("apple", "222")),
                    row("3", "kim", linked("google", "222")),
                ], options: ["--apple-team", "main"]) == [
                    "1 1 conflict email_taken holder_differs", "2 2 conflict email_taken",
                    "3 3 conflict identity_taken",
                ])
    }

    @Test func `a row whose id an account of another import has comes with a note, and both are found by it`()
        async throws
    {
        func rows(_ name: String, _ ids: [String]) -> [String] {
            ids.map { #"{"externalId":"\#($0)","email":"\#($0)@\#(name).example"}"# }
        }
        #expect(try await run("one", rows("one", ["5", "6"])) == ["1 5 created", "2 6 created"])
        #expect(
            try await run("two", rows("two", ["4", "5", "6", "6"]))
                == ["1 4 created", "2 5 created external_id_shared", "3 6 created external_id_shared", "4 6 unchanged"])
        let shown = try await ImportCommandTests.run(["show", "two"], scratch)
        #expect(shown.output.contains(#""note:external_id_shared":2"#), "\(shown.output)")
        #expect(try await scratch.count("SELECT count(*) FROM accounts WHERE external_id = '5'") == 2)
        // What is of the same import is shared with none.
        #expect(try await run("one", rows("one", ["5", "7"])) == ["1 5 unchanged", "2 7 created"])
    }

    @Test func `a row that came before has the notes of its row again, unless its account is gone`() async throws {
        let rows = ["a", "b"].map {
            #"{"externalId":"\#($0)","email":"\#($0)@example.com","passwordHash":"md5$x","identities":["#
                + #"{"provider":"github","subject":"\#($0)"}]}"#
        }
        let notes = "identity_skipped:github password_dropped:unknown"
        #expect(try await run("one", rows) == ["1 a created \(notes)", "2 b created \(notes)"])
        try await scratch.execute("DELETE FROM accounts WHERE external_id = 'b'")
        let unread = #"{"externalId":"a","email":1}"#
        #expect(try await run("one", rows + [unread]) == ["1 a unchanged \(notes)", "2 b unchanged", "3 a unchanged"])
    }

    @Test func `a row that came before names what of its person has changed, here or there, and nothing else`()
        async throws
    {
        let (old, new) = (
            "$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu",
            "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"
        )
        func row(_ id: String, _ email: String? = nil, hash: String? = nil, more: String = "") -> String {
            let address = email ?? "\(id)@example.com"
            let password = hash.map { #","passwordHash":"\#($0)""# } ?? ""
            return #"{"externalId":"\#(id)","email":"\#(address)"\#(password)\#(more)}"#
        }
        let relay = "x@privaterelay.appleid.com"
        let linked = #","identities":[{"provider":"google","subject":"1"}]"#
        let first = [
            row("same", hash: old), row("blocked"), row("moved"), row("changed", hash: old), row("added"),
            row("used", hash: old), row("reset", hash: "md5$x"), row("relayed", relay),
            row("linked", relay, more: linked),
        ]
        #expect(
            try await run("one", first) == [
                "1 same created", "2 blocked created", "3 moved created", "4 changed created", "5 added created",
                "6 used created", "7 reset created password_dropped:unknown", "8 relayed created identity_missing",
                "9 linked created identity_missing email_dropped",
            ])
        // Two have signed in, or set a password here, and one has added Apple.
        try await scratch.execute(
            """
            UPDATE accounts
            SET password_hash = '$scrypt$ln=17,r=8,p=1$AAAA$AAAA', password_is_unused = false
            WHERE external_id IN ('used', 'reset')
            """,
            """
            INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
            SELECT account_id, account_id, 'apple', 'main', '001.x', now()
            FROM accounts
            WHERE external_id = 'relayed'
            """)
        let later = [
            row("same", hash: old), row("blocked", more: #","disabled":true"#), row("moved", "other@example.com"),
            row("changed", hash: new), row("added", hash: new), row("used", hash: new), row("reset", hash: "md5$x"),
            row("relayed", relay), row("linked", relay, more: linked),
        ]
        #expect(
            try await run("one", later) == [
                "1 same unchanged", "2 blocked unchanged differs:disabled", "3 moved unchanged differs:email",
                "4 changed unchanged differs:password", "5 added unchanged differs:password", "6 used unchanged",
                "7 reset unchanged", "8 relayed unchanged differs:identities", "9 linked unchanged identity_missing",
            ])
        #expect(try await scratch.count("SELECT count(*) FROM accounts WHERE status = 'disabled'") == 0)
    }

    /// Two systems number their people.
    @Test func `rows of another source are not said to be in, and one of another kind ends with 2`() async throws {
        func rows(_ name: String) -> String {
            ["1", "2"].map { #"{"externalId":"\#($0)","email":"\#(name)\#($0)@example.com"}"# }.joined(separator: "\n")
        }
        let words = ["ndjson", "-", "--id", "shop"]
        let first = try await ImportCommandTests.run(words, scratch, input: rows("kim")).ended()
        #expect(first.errors.contains("all are in"), "\(first.errors)")
        let again = try await ImportCommandTests.run(words, scratch, input: rows("kim")).ended()
        #expect(again.errors.contains("all are in"), "\(again.errors)")
        let other = try await ImportCommandTests.run(words, scratch, input: rows("lee")).ended()
        #expect(
            other.errors.contains("other people, who are not in") && !other.errors.contains("all are in"),
            "\(other.errors)")

        let before = try await scratch.texts("SELECT imports::text FROM imports")
        for flags in [[], ["--dry-run"]] {
            let run = try await ImportCommandTests.run(
                ["cognito", "-", "--id", "shop"] + flags, scratch, input: #"{"Users":[]}"#
            ).ended(2)
            #expect(run.errors.contains("the import shop came from ndjson, and this is cognito"), "\(run.errors)")
        }
        #expect(try await scratch.texts("SELECT imports::text FROM imports") == before)
    }

    @Test func `a row that came before says when its identities and its account's are not the same, here or there`()
        async throws
    {
        func row(_ id: String, _ identities: (provider: String, subject: String)...) -> String {
            let linked = identities.map { #"{"provider":"\#($0.provider)","subject":"\#($0.subject)"}"# }
                .joined(separator: ",")
            return #"{"externalId":"\#(id)","email":"\#(id)@example.com","identities":[\#(linked)]}"#
        }
        let first = [
            row("same", ("google", "1")), row("linked"), row("unlinked", ("google", "2"), ("github", "a")),
            row("other", ("google", "3")), row("here", ("google", "4")), row("none", ("github", "b")),
        ]
        #expect(
            try await run("one", first) == [
                "1 same created", "2 linked created", "3 unlinked created identity_skipped:github", "4 other created",
                "5 here created", "6 none created identity_skipped:github",
            ])
        try await scratch.execute("DELETE FROM identities WHERE subject = '4'")
        let later = [
            row("same", ("google", "1")), row("linked", ("google", "5")), row("unlinked", ("github", "a")),
            row("other", ("google", "6")), row("here", ("google", "4")), row("none", ("github", "b")),
            row("new", ("google", "7")), row("new", ("google", "8")),
        ]
        #expect(
            try await run("one", later) == [
                "1 same unchanged", "2 linked unchanged differs:identities",
                "3 unlinked unchanged identity_skipped:github differs:identities",
                "4 other unchanged differs:identities", "5 here unchanged differs:identities",
                "6 none unchanged identity_skipped:github", "7 new created", "8 new unchanged differs:identities",
            ])
        let subjects = try await scratch.texts("SELECT subject FROM identities ORDER BY subject")
        #expect(subjects == ["1", "2", "3", "7"])
        // What a run leaves out is not compared.
        #expect(
            try await run("one", [row("same", ("google", "9"))], options: ["--skip-google"])
                == ["1 same unchanged identity_skipped:google"])
    }
}
