import Curl
import Foundation
import JSON
import Testing

@testable import TestSupport

@Suite struct ProcessTests {
    private func run(_ arguments: String...) async throws -> FinishedProcess {
        try await FinishedProcess.run(FinishedProcess.product("countersign-sandbox"), arguments)
    }

    private func port(of sandbox: Sandbox) throws -> String {
        try #require(sandbox.url.split(separator: ":").last.map(String.init))
    }

    @Test func `SIGTERM ends it with success, also while an answer trickles`() async throws {
        let quiet = try await Sandbox.start()
        #expect(await quiet.stop().status == 0)

        let busy = try await Sandbox.start()
        try await busy.fail("/apple/*", .slow(bytesPerSecond: 1))
        async let answer: Void = {
            await #expect(throws: FetchError.self) { try await busy.get("/apple/auth/keys") }
        }()
        #expect(try await busy.history(count: 1).count == 1)
        #expect(await busy.stop().status == 0)
        await answer
    }

    @Test func `it ends when the program that started it is gone`() async throws {
        // Standard input that is at its end from the beginning: the sandbox starts, detects that, and ends.
        let result = try await run("--port", "0", "--until-input-ends")
        #expect(result.code == 0)
        #expect(result.errors == "")
    }

    @Test(arguments: ["0.0.0.0", "::", "192.0.2.1", "example.com", "localhost.example", "127.0.0.1.example"])
    func `a host that others can reach is refused unless it is allowed`(_ host: String) async throws {
        let result = try await run("--host", host, "--port", "0")
        #expect(result.code != 0)
        #expect(result.errors.contains("--allow-remote"))
        #expect(result.output == "")
    }

    @Test(arguments: [["--host", "0.0.0.0", "--allow-remote"], ["--host", "localhost"], ["--host", "127.0.0.2"]])
    func `an allowed host and every loopback address are served`(_ arguments: [String]) async throws {
        try await Sandbox.run(arguments: arguments) { sandbox in
            #expect(sandbox.url.hasPrefix("http://\(arguments[1]):"))
        }
    }

    @Test func `a health check asks the sandbox that listens, and fails where none does`() async throws {
        try await Sandbox.run { sandbox in
            let asked = try await run("--health", "--port", port(of: sandbox))
            #expect((asked.code, asked.output, asked.errors) == (0, "", ""))
        }
        let free = try FreePort.choose(1)[0]
        #expect(try await run("--health", "--port", String(free)).code == 1)
    }

    @Test(arguments: ["127.0.0.2", "::1", "0.0.0.0", "::"])
    func `a health check asks at the address that the sandbox listens on`(_ host: String) async throws {
        try await Sandbox.run(arguments: ["--host", host, "--allow-remote"]) { sandbox in
            let asked = try await run("--health", "--host", host, "--port", port(of: sandbox))
            #expect(asked.code == 0)
        }
    }

    @Test func `a health check meets no fault and is not in the history`() async throws {
        try await Sandbox.run { sandbox in
            try await sandbox.fail("/apple/auth/keys", .status(503), times: 1)
            let asked = try await run("--health", "--port", port(of: sandbox))
            #expect(asked.code == 0)
            #expect(try await sandbox.history().isEmpty)
            #expect(try await sandbox.get("/apple/auth/keys").status == 503)
        }
    }

    @Test func `help names every option and a wrong one is refused`() async throws {
        let help = try await run("--help")
        #expect(help.code == 0)
        let options = [
            "--host", "--port", "--allow-remote", "--seed", "--apple-issuer", "--google-issuer", "--health",
            "--until-input-ends",
        ]
        for option in options { #expect(help.output.contains(option)) }
        #expect(try await run("--prot", "1").code == 64)
        #expect(try await run("--port", "65536").code == 64)
    }

    @Test(arguments: [
        ["--keys", ""], ["--apple-issuer", ""], ["--apple-issuer", "nonsense"], ["--apple-issuer", "https://"],
        ["--google-issuer", ""], ["--google-issuer", "google.com"],
    ])
    func `a value that can't be meant is refused`(_ arguments: [String]) async throws {
        let result = try await run(arguments[0], arguments[1], "--port", "0", "--until-input-ends")
        #expect(result.code == 64 && result.output == "", "\(result.output)")
        #expect(result.errors.hasPrefix("Error: \(arguments[0]) is "), "\(result.errors)")
    }

    @Test func `an address that can't be printed is an error with a message`() async throws {
        let executable = try FinishedProcess.product("countersign-sandbox").path
        let result = try await FinishedProcess.run(
            URL(filePath: "/bin/sh"),
            ["-c", "exec \"$0\" --port 0 --until-input-ends >/dev/full", executable])
        #expect(result.code == 1)
        #expect(result.errors == "Error: Cannot print the address: No space left on device.\n")
    }

    @Test func `keys are new each time unless a directory keeps them`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "sandbox-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        func moduli(_ arguments: [String]) async throws -> Set<String> {
            try await Sandbox.run(arguments: arguments) { sandbox in
                let set = try JSONValue(parsing: try await sandbox.get("/google/oauth2/v3/certs").body)
                return Set(set["keys"]?.elements?.compactMap { $0["n"]?.string } ?? [])
            }
        }
        let kept = try await moduli(["--keys", directory.path])
        #expect(kept.count == 2)
        #expect(try await moduli(["--keys", directory.path]) == kept)
        let file = directory.appending(path: "google-0.pem")
        let permissions = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
        #expect(try await moduli(["--keys", directory.appending(path: "other").path]).isDisjoint(with: kept))
    }

    @Test func `a directory that cannot keep keys is an error`() async throws {
        let result = try await run("--port", "0", "--keys", "/dev/null/keys")
        #expect(result.code == 1)
        #expect(result.errors.hasPrefix("Error: Cannot keep keys in /dev/null/keys: "))
    }

    @Test func `a port that is taken is an error with a message`() async throws {
        try await Sandbox.run { sandbox in
            let port = try port(of: sandbox)
            let result = try await run("--port", port)
            #expect(result.code == 1)
            #expect(result.errors == "Error: Cannot listen on 127.0.0.1, port \(port): Address already in use.\n")
        }
    }
}
