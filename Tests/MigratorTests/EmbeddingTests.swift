import Foundation
import TestSupport
import Testing

@testable import Migrator

/// The build step, run as the build runs it.
@Suite struct EmbeddingTests {
    private func embed(_ files: [String: String]) async throws -> Embedding {
        try await Embedding.run("embed-migrations", on: files)
    }

    @Test func `sound pairs become one Swift file, whatever quotes and signs they hold`() async throws {
        let awkward = "-- why \"\"\"# \\(x) \\#(y)\nSELECT '\\', '##', '€', '\u{1F600}';\n"
        let result = try await embed([
            "0001_create_a.up.sql": awkward, "0001_create_a.down.sql": "-- why\n",
            "0002_create_b.up.sql": "-- why\n", "0002_create_b.down.sql": "-- why\n",
        ])
        #expect(result.code == 0, "\(result.message)")
        // One # more than the text has in a row, so that nothing in it closes or escapes.
        #expect(result.source.contains("up: ###\"\"\"\n\(awkward)\n\"\"\"###"))
        #expect(result.source.contains("Migration(version: 2, name: \"create_b\""))
    }

    @Test func `no migrations are an empty list`() async throws {
        let result = try await embed([:])
        #expect(result.code == 0)
        #expect(result.source.contains("embedded: [Migration] = [\n    ]"))
    }

    /// By what the sentence says.
    private static let refused = Result {
        let files = try DataFile("Fixtures/refused-migrations.json").decoded(as: [String: [[String: String]]].self)
        return files.flatMap { sentence, all in all.map { ($0, sentence) } }
    }

    @Test(arguments: try refused.get())
    func `a file that breaks a rule stops the build with a sentence`(files: [String: String], sentence: String)
        async throws
    {
        let result = try await embed(files)
        #expect(result.code == 1)
        #expect(result.message.contains(": error: "))
        #expect(result.message.contains(sentence), "\(result.message)")
        #expect(result.source.isEmpty)
    }

    @Test func `a migration may name itself as the first to serve from`() async throws {
        let result = try await embed([
            "0001_drop_a.up.sql": "-- why\n-- serves-from: 0001\n", "0001_drop_a.down.sql": "-- why\n",
        ])
        #expect(result.code == 0, "\(result.message)")
    }

    @Test func `a new migration passes the build, and takes the next number`() async throws {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let first = try NewMigration(name: "create_a", directory: directory.url.path)
        #expect(first.upPath.hasSuffix("/0001_create_a.up.sql"))
        let second = try NewMigration(name: "create_b", directory: directory.url.path)
        #expect(second.downPath.hasSuffix("/0002_create_b.down.sql"))
        let result = try await Embedding.run("embed-migrations", on: directory.url)
        #expect(result.code == 0, "\(result.message)")
        #expect(result.source.contains("Migration(version: 2, name: \"create_b\""))
    }

    @Test(arguments: ["create", "Create_a", "create a", "../create_a", "create_", "_create_a", "1_a", ""])
    func `a new migration with a name that the build would refuse is not written`(name: String) throws {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let fault = #expect(throws: NewMigration.Fault.self) {
            try NewMigration(name: name, directory: directory.url.path)
        }
        #expect(fault?.description.contains("verb_object") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path).isEmpty)
    }

    @Test func `a directory that isn't there is named`() {
        let fault = #expect(throws: NewMigration.Fault.self) {
            try NewMigration(name: "create_a", directory: "/nowhere/at/all")
        }
        #expect(fault?.description.contains("/nowhere/at/all") == true)
    }
}
