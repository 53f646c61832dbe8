import Postgres
import TestSupport
import Testing

/// `countersign events`, as a process on a database with three events.
@Suite struct EventsCommandTests {
    private static let ids = (1...3).map { "01a1fc41-9b43-7cef-ac4a-00000000000\($0)" }

    private static let lines = [
        #"{"eventId":"\#(ids[0])","provider":"apple","type":"consent-revoked","status":"done","subject":"001.kim","#
            + #""jti":"a-1","occurredAt":"2026-01-01T12:00:00Z","receivedAt":"2026-01-01T12:00:01Z","#
            + #""processedAt":"2026-01-01T12:00:02Z"}"#,
        #"{"eventId":"\#(ids[1])","provider":"google","type":"risc/account-disabled","status":"pending","#
            + #""subject":"1098","detail":"hijacking","jti":"g \"1\"","occurredAt":"2026-01-01T11:00:00Z","#
            + #""receivedAt":"2026-01-01T12:00:03Z"}"#,
        #"{"eventId":"\#(ids[2])","provider":"google","type":"verification","status":"unknown_type","#
            + #""detail":"s","jti":"g-2","occurredAt":"2026-01-01T12:00:04Z","receivedAt":"2026-01-01T12:00:04Z","#
            + #""processedAt":"2026-01-01T12:00:05Z"}"#,
    ]

    private func database(_ body: (ScratchDatabase) async throws -> Void) async throws {
        try await ScratchDatabase.withMigrated { scratch in
            try await scratch.execute(
                """
                INSERT INTO provider_events (event_id, provider, jti, position, type, kind, realm, subject, detail,
                    occurred_at, received_at, status, processed_at)
                VALUES
                    (\(Self.ids[0])::text::uuid, 'apple', 'a-1', 0, 'consent-revoked', 'consent-revoked', 'main',
                        '001.kim', NULL, '2026-01-01T12:00:00Z', '2026-01-01T12:00:01Z', 'done',
                        '2026-01-01T12:00:02Z'),
                    (\(Self.ids[1])::text::uuid, 'google', 'g "1"', 0, 'risc/account-disabled', 'account-disabled',
                        'main', '1098', 'hijacking', '2026-01-01T11:00:00Z', '2026-01-01T12:00:03Z', 'pending',
                        NULL),
                    (\(Self.ids[2])::text::uuid, 'google', 'g-2', 0, 'verification', NULL, 'main', NULL, 's',
                        '2026-01-01T12:00:04Z', '2026-01-01T12:00:04Z', 'unknown_type', '2026-01-01T12:00:05Z')
                """)
            try await body(scratch)
        }
    }

    /// The database alone: no key ring and no provider is configured.
    private func run(_ arguments: [String], _ scratch: ScratchDatabase) async throws -> FinishedProcess {
        try await CountersignProcess.run(
            ["events"] + arguments, environment: ["COUNTERSIGN_POSTGRES_URL": scratch.url])
    }

    @Test func `The list has the newest first, all of them or some`() async throws {
        try await database { scratch in
            for (arguments, positions) in [
                ([], [2, 1, 0]), (["--provider", "google"], [2, 1]), (["--provider", "apple"], [0]),
                (["--status", "pending"], [1]), (["--status", "unknown_type"], [2]), (["--status", "outdated"], []),
                (["--limit", "2"], [2, 1]), (["--provider", "google", "--status", "done"], []),
            ] {
                let list = try await run(["list"] + arguments, scratch).ended()
                #expect(list.lines.map(String.init) == positions.map { Self.lines[$0] }, "\(arguments)")
            }
        }
    }

    @Test func `One event is shown by its id`() async throws {
        try await database { scratch in
            for (id, line) in zip(Self.ids, Self.lines) {
                let shown = try await run(["show", id], scratch)
                #expect(shown.output == line + "\n")
            }
        }
    }

    @Test func `A replayed event is pending again, and nothing else of it changes`() async throws {
        try await database { scratch in
            let replayed = try await run(["replay", Self.ids[0]], scratch).ended()
            let end = #","processedAt":"2026-01-01T12:00:02Z"}"#
            let expected = Self.lines[0].replacing("\"done\"", with: "\"pending\"").replacing(end, with: "}")
            #expect(replayed.output == expected + "\n")
            #expect(try await run(["show", Self.ids[0]], scratch).output == replayed.output)
            #expect(try await run(["show", Self.ids[2]], scratch).output == Self.lines[2] + "\n")
        }
    }

    @Test(arguments: ["show", "replay"])
    func `An event that there is not is said to be none`(_ command: String) async throws {
        try await database { scratch in
            let id = "01a1fc41-9b43-7cef-ac4a-000000000009"
            let run = try await run([command, id], scratch).ended(1)
            #expect(run.output.isEmpty)
            #expect(run.errors == "countersign: There is no event \(id).\n")
        }
    }
}
