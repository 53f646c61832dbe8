import Postgres
import TestSupport
import Testing

/// `countersign events`, as a process on a database with three events.
@Suite struct EventsCommandTests {
    private static let ids = (1...3).map { "01a1fc41-9b43-7cef-ac4a-00000000000\($0)" }

    private let lines: [String]

    init() throws { lines = try DataFile("Fixtures/events.ndjson").text.split(separator: "\n").map(String.init) }

    private func database(_ body: (ScratchDatabase) async throws -> Void) async throws {
        try await ScratchDatabase.withMigrated { scratch in
            try await scratch.execute(SQL(unsafeSQL: try DataFile("Fixtures/provider-events.sql").text))
            try await body(scratch)
        }
    }

    /// The database alone: no key ring and no provider is configured.
    private func run(_ arguments: [String], _ scratch: ScratchDatabase) async throws -> FinishedProcess {
        try await CountersignProcess.run(["events"] + arguments, environment: ["COUNTERSIGN_POSTGRES_URL": scratch.url])
    }

    @Test func `The list has the newest first, all of them or some`() async throws {
        try await database { scratch in
            for (arguments, positions) in [
                ([], [2, 1, 0]), (["--provider", "google"], [2, 1]), (["--provider", "apple"], [0]),
                (["--status", "pending"], [1]), (["--status", "unknown_type"], [2]), (["--status", "outdated"], []),
                (["--limit", "2"], [2, 1]), (["--limit", "3"], [2, 1, 0]),
                (["--provider", "google", "--status", "done"], []),
            ] {
                let list = try await run(["list"] + arguments, scratch).ended()
                #expect(list.lines.map(String.init) == positions.map { lines[$0] }, "\(arguments)")
                let notice = "countersign: the list ends at --limit (2), and there may be more\n"
                #expect(list.errors == (arguments == ["--limit", "2"] ? notice : ""), "\(arguments)")
            }
        }
    }

    @Test func `One event is shown by its id`() async throws {
        try await database { scratch in
            for (id, line) in zip(Self.ids, lines) {
                let shown = try await run(["show", id], scratch)
                #expect(shown.output == line + "\n")
            }
        }
    }

    @Test func `A replayed event is pending again, and nothing else of it changes`() async throws {
        try await database { scratch in
            let replayed = try await run(["replay", Self.ids[0]], scratch).ended()
            let end = #","processedAt":"2026-01-01T12:00:02Z"}"#
            let expected = lines[0].replacing("\"done\"", with: "\"pending\"").replacing(end, with: "}")
            #expect(replayed.output == expected + "\n")
            #expect(try await run(["show", Self.ids[0]], scratch).output == replayed.output)
            #expect(try await run(["show", Self.ids[2]], scratch).output == lines[2] + "\n")
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
