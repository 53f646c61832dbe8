import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// Commands whose output or notices can't be written: a full disk, a stream that is closed.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct StandardStreamTests: WorldSuite {
    /// Runs a command as a shell does that redirects its streams.
    private func run(
        _ arguments: [String], _ redirections: String, _ settings: Countersign.Settings = [:]
    ) async throws -> Countersign.Ending {
        try await Countersign.run(
            arguments, settings, launcher: ["/bin/sh", "-c", "exec \"$0\" \"$@\" \(redirections)"])
    }

    // The last two print more than a buffer holds.
    @Test(arguments: [
        ["--help"], ["help", "migrate"], ["--version"], ["webhooks", "secret"], ["config", "example"],
        ["config", "show"],
    ])
    func `output that can't be written is said, and ends with exit code 1`(arguments: [String]) async throws {
        for (redirection, reason) in [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")] {
            let ending = try await run(arguments, redirection)
            #expect(ending.status == 1, "\(redirection)")
            let sentence = "countersign: Standard output can't be written"
            #expect(["\(sentence): \(reason).\n", "\(sentence).\n"].contains(ending.error), "\(ending.error)")
        }
    }

    @Test func `an export, and what is said of a token, is not taken for written either`() async throws {
        let id = try await world.newAccount("unwritten").accountID()
        let settings = ["postgres.url": scratch.url]
        for arguments in [["account", "export", id], ["token", "verify", "--provider", "apple", "x"]] {
            for (redirection, reason) in [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")] {
                let ending = try await run(arguments, redirection, settings).expecting(1)
                #expect(ending.error == "countersign: Standard output can't be written: \(reason).\n", "\(arguments)")
            }
        }
    }

    /// The clients and keys of a name: each client by its id and its hash, each key by its id.
    private func secrets(of name: String) async throws -> Set<String> {
        let texts = try await scratch.texts(
            """
            SELECT client_id || ' ' || secret_hash::text FROM oauth_clients WHERE name = \(name)
            UNION ALL SELECT key_id::text FROM admin_keys WHERE name = \(name)
            """)
        return Set(texts)
    }

    private func newClient(_ name: String) async throws -> String {
        let made = try await world.run(["oauth-client", "create", "--name", name]).expecting(0)
        return try #require(try made.json["clientId"]?.string)
    }

    @Test func `a secret is not made where it shows beforehand that it can't be printed`() async throws {
        let settings = ["postgres.url": scratch.url]
        let client = try await newClient("unseen")
        let before = try await secrets(of: "unseen")
        for arguments in [
            ["oauth-client", "rotate-secret", client], ["oauth-client", "create", "--name", "unseen"],
            ["admin-key", "create", "--name", "unseen", "--scopes", "read"],
        ] {
            for (redirection, reason) in [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")] {
                let ending = try await run(arguments, redirection, settings).expecting(1)
                #expect(ending.error == "countersign: Standard output can't be written: \(reason).\n", "\(arguments)")
            }
        }
        #expect(try await secrets(of: "unseen") == before)
    }

    @Test func `of a secret that is made and can't be printed it is said how to go on`() async throws {
        let client = try await newClient("unprinted")
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let file = directory.url.appending(path: "output").path
        for (arguments, remedy) in [
            (["oauth-client", "rotate-secret", client], "has a new secret, which could not be printed: rotate it"),
            (["oauth-client", "rotate-secret", client, "--keep-old", "1h"], "or go on with that until "),
            (["oauth-client", "create", "--name", "unprinted"], "`countersign oauth-client rotate-secret csc_"),
            (["admin-key", "create", "--name", "unprinted", "--scopes", "read"], "`countersign admin-key revoke "),
        ] {
            let before = try await secrets(of: "unprinted")
            // As on a full disk, of which nothing shows before something is written.
            let ending = try await Countersign.run(
                arguments, ["postgres.url": scratch.url],
                launcher: ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\" >'\(file)'"]
            ).expecting(1)
            #expect(ending.error.hasPrefix("countersign: ") && ending.error.contains(remedy), "\(ending.error)")
            #expect(ending.error.hasSuffix("countersign: Standard output can't be written: File too large.\n"))
            let new = try await secrets(of: "unprinted").subtracting(before)
            #expect(new.count == 1 && new.allSatisfy { ending.error.contains($0.prefix { $0 != " " }) }, "\(new)")
        }
    }

    @Test func `an input that is closed is not an empty one`() async throws {
        let ending = try await run(["token", "verify", "--provider", "apple"], "<&-")
        #expect(ending.status == 2 && ending.output.isEmpty, "\(ending.error)")
    }

    /// As where a program that has made its streams non-blocking shares them with the command.
    @Test func `streams that are not ready, and do not block, are waited for`() async throws {
        let script = try DataFile("Fixtures/non-blocking.py").text
        let ending = try await Countersign.run(
            ["token", "verify", "--provider", "apple"], ["postgres.url": world.scratch.url],
            launcher: ["/usr/bin/python3", "-c", script])
        #expect(ending.status == 1 && ending.error.isEmpty, "\(ending.error)")
        #expect(ending.output.split(separator: "\n").count == 3_000)
    }

    @Test(arguments: [["config", "example"], ["--generate-completion-script", "bash"]])
    func `what is printed is whole where standard output does not block`(arguments: [String]) async throws {
        let script = try DataFile("Fixtures/non-blocking.py").text
        let printed = try await Countersign.run(arguments).expecting(0)
        #expect(printed.output.utf8.count > 4_096)
        let ending = try await Countersign.run(arguments, launcher: ["/usr/bin/python3", "-c", script]).expecting(0)
        #expect(ending.error.isEmpty && ending.output == printed.output, "\(ending.error)")
    }

    @Test(arguments: ["2>/dev/full", "2>&-"])
    func `a standard error that can't be written changes no exit code, and no output`(
        redirection: String
    ) async throws {
        #expect(try await run(["nope"], redirection).status == 2)
        // A warning that has been written, and one that can't be.
        let settings = ["postgres.url": scratch.url, "admin.host": "0.0.0.0"]
        let warned = try await run(["config", "check"], "", settings)
        #expect(warned.error.hasPrefix("countersign: warning: admin.host is 0.0.0.0"), "\(warned.error)")
        let unseen = try await run(["config", "check"], redirection, settings)
        #expect(unseen.status == 0 && unseen.error == "")
        #expect(unseen.output == "the configuration is sound\n" && warned.output == unseen.output)
        #expect(try await run(["--version"], ">/dev/full \(redirection)").status == 1)
    }
}
