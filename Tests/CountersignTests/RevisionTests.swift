import Foundation
import TestSupport
import Testing

/// The build step that finds the commit, run as the build runs it, and what shows it.
@Suite(.timeLimit(.minutes(2))) struct RevisionTests {
    private static let commit = String(repeating: "0123456789", count: 4)
    private static let other = String(repeating: "a", count: 40)

    /// The commit that is embedded from a repository of these files.
    private func embedded(_ git: [String: String], revision: String = "$Format:%H$\n") async throws -> String? {
        let root = try ScratchDirectory()
        defer { root.remove() }
        for (name, text) in git { try root.write(name, text) }
        let (repository, output) = (root.url.appending(path: ".git"), root.url.appending(path: "out.swift"))
        let run = try await FinishedProcess.run(
            FinishedProcess.product("embed-revision"),
            [try root.write("revision", revision), repository.path, output.path])
        #expect(run.code == 0, "\(run.errors)")
        let source = try String(contentsOf: output, encoding: .utf8)
        return source.firstMatch(of: /let embeddedCommit = "([^"]*)"/).map { String($0.1) }
    }

    @Test func `the commit is that of the branch which is checked out`() async throws {
        let (commit, other) = (Self.commit, Self.other)
        #expect(
            try await embedded([".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": "\(commit)\n"]) == commit
        )
        #expect(try await embedded([".git/HEAD": "\(commit)\n", ".git/refs/heads/main": "\(other)\n"]) == commit)
        let packed = "# pack-refs with: peeled\n\(other) refs/heads/domain\n\(commit) refs/heads/main\n"
        #expect(try await embedded([".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": packed]) == commit)
        #expect(
            try await embedded([
                ".git": "gitdir: main/.git/worktrees/tree\n", "main/.git/worktrees/tree/HEAD": "ref: refs/heads/b\n",
                "main/.git/worktrees/tree/commondir": "../..\n", "main/.git/refs/heads/b": "\(commit)\n",
            ]) == commit)
    }

    @Test func `an archive says its own commit, and what is no repository has none`() async throws {
        #expect(try await embedded([:], revision: "\(Self.commit)\n") == Self.commit)
        #expect(try await embedded([:]) == "unknown")
        #expect(try await embedded([".git/HEAD": "ref: refs/heads/main\n"]) == "unknown")
        #expect(try await embedded([".git/HEAD": "\"; import Foundation\n"]) == "unknown")
    }

    @Test func `the program prints its version, its commit and its libraries`() async throws {
        let run = try await CountersignProcess.run(["--version"])
        let lines = run.lines.map { $0.split(separator: " ").map(String.init) }
        #expect(lines.map(\.first) == ["countersign", "commit", "Swift", "OpenSSL", "libcurl", "libpq"])
        #expect(lines.allSatisfy { $0.count == 2 }, "\(run.output)")
        #expect(lines[1][1].wholeMatch(of: /[0-9a-f]{40}|unknown/) != nil)
        for line in [lines[0]] + lines.dropFirst(2) {
            #expect(line[1].wholeMatch(of: /[0-9]+(\.[0-9]+)+[a-z]?/) != nil, "\(line)")
        }
    }
}
