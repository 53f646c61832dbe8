import Postgres
import TestSupport
import Testing

/// The notes of `countersign import` about what a row meets here.
@Suite(.fixture(ScratchDatabase.self)) struct ImportNoteTests {
    var scratch: ScratchDatabase { .current }

    /// Runs an import, after a rehearsal that has to report the same.
    private func run(_ name: String, _ rows: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> [String]
    {
        let words = ["ndjson", "-", "--id", name]
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
                "12 f1 conflict email_taken holder_claimed",
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
        #expect(
            try await run("one", rows + [unread]) == ["1 a unchanged \(notes)", "2 b unchanged", "3 a unchanged"])
    }
}
