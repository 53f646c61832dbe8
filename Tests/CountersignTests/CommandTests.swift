import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import countersign

/// The commands around configuration, as processes.
@Suite struct CommandTests {
    @Test func `config show prints each value and its origin, and no secret`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "show-\(UUID().uuidString).yaml")
        try Data("server: {port: 9000}\ngoogle: {serverClientSecret: canary-google}\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try await CountersignProcess.run(
            ["config", "show"],
            environment: [
                "COUNTERSIGN_CONFIG": file.path, "COUNTERSIGN_LOG_LEVEL": "debug",
                "COUNTERSIGN_POSTGRES_URL": "postgresql://me:canary-database@host/db?sslmode=verify-full",
                "COUNTERSIGN_POSTGRES_MIGRATION_URL": "postgresql://me:canary-owner@host/db?sslmode=verify-full",
                "COUNTERSIGN_MAIL_SMTP_URL": "smtp://me:canary-mail@host",
            ])
        #expect(run.code == 0, "\(run.errors)")
        #expect(run.output.contains("server.port: \"9000\"  # \(file.path). "))
        #expect(run.output.contains("log.level: \"debug\"  # COUNTERSIGN_LOG_LEVEL. "))
        #expect(run.output.contains("admin.port: \"8081\"  # default. "))
        #expect(run.output.contains("postgres.url: \"<redacted>\"  # COUNTERSIGN_POSTGRES_URL. "))
        #expect(run.output.contains("google.serverClientSecret: \"<redacted>\""))
        #expect(run.output.contains("server.publicUrl: \"\"  # not set: `http://127.0.0.1:PORT`. "))
        // The page's relative links are left out.
        #expect(run.output.contains("may be logged\n"))
        #expect(!(run.output + run.errors).contains("canary"))
    }

    @Test func `config show leaves out what a key can't hold, and fails`() async throws {
        let run = try await CountersignProcess.run(
            ["config", "show"], environment: ["COUNTERSIGN_APPLE_KEYS_URL": "https://me:canary@a.example/"])
        #expect(run.code == 2)
        #expect(run.errors.contains("apple.keysUrl (COUNTERSIGN_APPLE_KEYS_URL): expects"))
        #expect(!(run.output + run.errors).contains("canary"))
    }

    @Test func `config check prints every fault on a line of its own`() async throws {
        let run = try await CountersignProcess.run(["config", "check"], environment: ["COUNTERSIGN_SERVER_PORT": "x"])
        #expect(run.code == 2)
        #expect(run.output.isEmpty)
        let lines = run.errors.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines.allSatisfy { $0.hasPrefix("countersign: ") })
        for key in ["server.port", "postgres.url", "apple.clientIds", "keyring.path"] {
            #expect(lines.contains { $0.hasPrefix("countersign: \(key) (COUNTERSIGN_") }, "\(key)")
        }
    }

    @Test func `a variable that belongs to no key is a warning, and is no fault`() async throws {
        let environment = [
            "COUNTERSIGN_SERVR_PORT": "canary", "COUNTERSIGN_APPLE_TEAM_BETA_TEAM_ID": "b", "COUNTERSIGN_CONFIG": "",
            "COUNTERSIGN_APPLE_TEAMS": "main,alpha", "COUNTERSIGN_APPLE_TEAM_ALPHA_TEAM_ID": "a", "COUNTERSIGNED": "x",
        ]
        let warnings = """
            countersign: warning: COUNTERSIGN_APPLE_TEAM_BETA_TEAM_ID belongs to no key
            countersign: warning: COUNTERSIGN_SERVR_PORT belongs to no key; did you mean COUNTERSIGN_SERVER_PORT?

            """
        let shown = try await CountersignProcess.run(["config", "show"], environment: environment).ended()
        #expect(shown.errors == warnings)
        let checked = try await CountersignProcess.run(["config", "check"], environment: environment).ended(2)
        #expect(checked.errors.hasPrefix(warnings + "countersign: "))
        #expect(!(checked.errors + shown.errors).contains("canary"))
    }

    @Test(arguments: [["--help"], ["help", "migrate"], ["token", "verify", "--help"], ["--version"]])
    func `help and version need no configuration`(arguments: [String]) async throws {
        let run = try await CountersignProcess.run(arguments, environment: ["COUNTERSIGN_CONFIG": "/nowhere"]).ended()
        #expect(!run.output.isEmpty)
        #expect(run.errors.isEmpty)
    }

    @Test(arguments: [
        (["frobnicate"], "countersign"), (["migrate", "sideways"], "countersign migrate"),
        (["migrate", "down", "--steps", "0"], "countersign migrate down"),
        (["migrate", "new"], "countersign migrate new"),
        (["webhooks", "pause"], "countersign webhooks pause"), (["import", "frobnicate"], "countersign import run"),
        ([], "countersign"), (["migrate"], "countersign migrate"), (["google", "risc"], "countersign google risc"),
        (["account"], "countersign account"), (["config"], "countersign config"),
    ])
    func `a command that isn't one is a usage error, and leads to the help of the one above`(
        arguments: [String], command: String
    ) async throws {
        let run = try await CountersignProcess.run(arguments).ended(2)
        #expect(run.output.isEmpty)
        #expect(run.errors.hasPrefix("countersign: "))
        #expect(run.errors.hasSuffix(" (see `\(command) --help`)\n"), "\(run.errors)")
    }

    @Test(arguments: [
        (["webhooks", "pause"], "<name>", "The endpoint: its name."),
        (["account", "disable"], "<account>", "The account: its id, a UUID in lower case, or its whole address."),
        (["session", "end"], "<id>", "The session: its id, a UUID in lower case."),
    ])
    func `help says what a command acts on`(arguments: [String], value: String, sentence: String) async throws {
        let run = try await CountersignProcess.run(arguments + ["--help"]).ended()
        #expect(run.output.contains(" \(value) "), "\(run.output)")
        // However its lines are broken.
        #expect(run.output.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains(sentence))
        #expect(!run.output.contains("<text>"))
    }

    @Test func `a file of secrets takes the first line of a key pair, and says of both that one is for receivers`()
        async throws
    {
        let pair = try await CountersignProcess.run(["webhooks", "secret", "--ed25519"])
        try #require(pair.lines.count == 2, "\(pair.output)")
        #expect(pair.lines[0].hasPrefix("whsk_") && pair.lines[1].hasPrefix("whpk_"))
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        for (name, text, isRefused) in [("secret", "\(pair.lines[0])\n", false), ("pair", pair.output, true)] {
            let run = try await CountersignProcess.run(
                ["config", "check"],
                environment: [
                    "COUNTERSIGN_WEBHOOKS_ENDPOINTS": "crm",
                    "COUNTERSIGN_WEBHOOKS_ENDPOINT_CRM_URL": "https://crm.example.com/countersign",
                    "COUNTERSIGN_WEBHOOKS_ENDPOINT_CRM_SECRET_PATH": try directory.write(name, text),
                ])
            let faults = run.errors.split(separator: "\n").filter { $0.contains("webhooks.endpoint.crm") }
            #expect(faults.count == (isRefused ? 1 : 0), "\(run.errors)")
            #expect(faults.allSatisfy { $0.contains("a whpk_… is for the receivers") }, "\(run.errors)")
        }
    }
}

@Suite struct CommandEndingTests {
    @Test func `a start without a thread for notifications ends with a sentence that names the limit`() {
        let ending = CommandEnding(of: FeedListening.ListenerFailed())
        #expect(ending.code == 1)
        #expect(
            ending.message == "countersign: No thread is left for the notifications of the database: see the limit of "
                + "processes (`ulimit -u`, `TasksMax=`).")
    }
}

@Suite struct CommandNameTests {
    /// A name that ArgumentParser makes of the type takes it a third of a millisecond, at each start, for each command there is.
    @Test func `every command states its name`() {
        func names(of command: any ParsableCommand.Type) -> [String?] {
            [command.configuration.commandName] + command.configuration.subcommands.flatMap(names)
        }
        let names = names(of: Countersign.self)
        #expect(names.count > 70)
        #expect(!names.contains(nil))
    }
}
