import Postgres
import TestSupport
import Testing

/// `countersign admin-key`, as a process on a database of its own.
@Suite(.fixture(ScratchDatabase.self)) struct AdminKeyCommandTests {
    var scratch: ScratchDatabase { .current }

    private func run(_ arguments: [String], _ scratch: ScratchDatabase) async throws -> FinishedProcess {
        try await CountersignProcess.run(
            ["admin-key"] + arguments, environment: ["COUNTERSIGN_POSTGRES_URL": scratch.url])
    }

    @Test func `a key is printed once, listed without its secret, and revoked`() async throws {
        let made = try await run(["create", "--name", "kim@support", "--scopes", "revoke,read"], scratch).ended()
        #expect(try #require(made.lines.first).wholeMatch(of: /csa_[A-Za-z0-9_-]{43}/) != nil)
        #expect(made.lines.count == 1)
        #expect(made.errors.isEmpty)

        // Names may repeat: a key is renewed under its name.
        let other = try await run(
            ["create", "--name", "kim@support", "--scopes", "manage", "--scopes", "feed,read"], scratch)
        #expect(other.output != made.output)
        let list = try await run(["list"], scratch)
        #expect(list.lines.count == 2)
        #expect(!list.output.contains(try #require(made.lines.first).dropFirst(4)))
        let line = try #require(list.lines.first)
        let id = try #require(line.firstMatch(of: /"keyId":"([0-9a-f-]{36})"/)).1
        #expect(line.contains(#""name":"kim@support","scopes":["read","revoke"],"createdAt":""#))
        #expect(list.lines.last?.contains(#""scopes":["feed","manage","read"]"#) == true, "\(list.output)")
        #expect(!line.contains("lastUsedAt"))
        #expect(!line.contains("revokedAt"))

        for _ in 0..<2 { #expect(try await run(["revoke", String(id)], scratch).code == 0) }
        let after = try await run(["list"], scratch)
        #expect(after.lines.map { $0.contains(#""revokedAt":""#) } == [true, false])
    }

    @Test func `a name of the console's staff is no key's`() async throws {
        let refused = try await CountersignProcess.run(
            ["admin-key", "create", "--name", "kim", "--scopes", "read"],
            environment: ["COUNTERSIGN_POSTGRES_URL": scratch.url, "COUNTERSIGN_CONSOLE_STAFF": "kim"])
        #expect(refused.code == 1)
        #expect(refused.errors.contains("kim is a name of console.staff"))
        #expect(try await run(["list"], scratch).lines.isEmpty)
    }

    @Test func `what makes no key is refused in one sentence`() async throws {
        for arguments in [
            ["create", "--name", "k"], ["create", "--scopes", "read"],
            ["create", "--name", "", "--scopes", "read"], ["create", "--name", "  ", "--scopes", "read"],
            ["create", "--name", "a\nb", "--scopes", "read"], ["create", "--name", "\u{200B}", "--scopes", "read"],
            ["create", "--name", "kim\u{202E}troppus", "--scopes", "read"],
            ["create", "--name", "kim\u{2028}root", "--scopes", "read"],
            ["create", "--name", String(repeating: "k", count: 101), "--scopes", "read"],
            ["create", "--name", "k", "--scopes", ""], ["create", "--name", "k", "--scopes", "read,"],
            ["create", "--name", "k", "--scopes", "admin"], ["create", "--name", "k", "--scopes", "READ"],
            ["revoke"], ["revoke", "1"],
        ] {
            let refused = try await run(arguments, scratch)
            #expect(refused.code == 2, "\(arguments)")
            #expect(refused.output.isEmpty, "\(arguments)")
            #expect(refused.errors.split(separator: "\n").count == 1, "\(arguments): \(refused.errors)")
        }
        let unknown = try await run(["revoke", "01a1fc41-9b43-7cef-ac4a-000000000001"], scratch).ended(1)
        #expect(unknown.errors.contains("There is no key"))
        #expect(try await run(["list"], scratch).output.isEmpty)
    }

    @Test func `what the database refuses is said with its SQLSTATE, in one sentence`() async throws {
        try await scratch.execute("ALTER TABLE admin_keys ADD CONSTRAINT no_keys CHECK (false)")
        let refused = try await run(["create", "--name", "k", "--scopes", "read"], scratch).ended(1)
        #expect(refused.output.isEmpty)
        #expect(refused.errors.hasPrefix("countersign: The database refused (SQLSTATE 23514)"), "\(refused.errors)")
        #expect(refused.errors.split(separator: "\n").count == 1)
    }
}
