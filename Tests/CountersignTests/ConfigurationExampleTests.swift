import Foundation
import TestSupport
import Testing

@testable import countersign

/// What `countersign config example` prints.
@Suite struct ConfigurationExampleTests {
    private let lines = ConfigurationExample.text.split(separator: "\n")
    private var settings: [String] {
        lines.filter { $0.hasPrefix("#") && !$0.hasPrefix("# ") }.map { String($0.dropFirst()) }
    }
    private let rows = Settings.exampleRows

    @Test func `it is a configuration in which nothing is set`() throws {
        let sources = try read(ConfigurationExample.text)
        #expect(sources.fileKeys.isEmpty)
        #expect(lines.allSatisfy { $0.hasPrefix("#") && $0.count <= 140 })
    }

    @Test func `it has every key once, and with all of them set each value is one that its key takes`() throws {
        let sources = try read(settings.joined(separator: "\n"))
        #expect(sources.fileKeys.sorted() == rows.map(\.name).sorted())
        _ = try sources.load { reader in
            reader.refuseUnacceptable()
            return Optional(())
        }
        for row in rows where row.isList {
            if case .text? = sources.value(of: row.name)?.raw { Issue.record("\(row.name) is no YAML list") }
        }
    }

    @Test func `a key without a default has an example, and no other name has one`() {
        for row in rows where row.defaultText ?? "" == "" {
            #expect(Settings.examples[row.name] != nil, "\(row.name) needs a value in Settings.examples")
        }
        #expect(Set(Settings.examples.keys).isSubset(of: rows.map(\.name)))
    }

    @Test func `each key is below what it means and what applies without it`() throws {
        let port = try #require(lines.firstIndex(of: "#server.port: 8080"))
        #expect(lines[port - 2] == "# Port of the public listener.")
        #expect(lines[port - 1] == "# An integer from 1 to 65535. Default: 8080.")
        for row in rows {
            let place = try #require(lines.firstIndex { $0.hasPrefix("#\(row.name): ") }, "\(row.name)")
            let sentence = try #require(row.plainMeaning.split(separator: " ").first)
            let comment = lines[..<place].reversed().prefix { $0.hasPrefix("# ") }
            #expect(comment.contains { $0.hasPrefix("# \(sentence)") }, "\(row.name)")
            if let text = row.defaultText, !text.isEmpty {
                let joined = comment.reversed().map { $0.dropFirst(2) }.joined(separator: " ")
                #expect(joined.contains("Default: \(text)."), "\(row.name)")
            }
        }
    }

    @Test func `the command prints it, whatever configuration there is`() async throws {
        let run = try await CountersignProcess.run(
            ["config", "example"], environment: ["COUNTERSIGN_CONFIG": "/nowhere"])
        #expect((run.code, run.errors) == (0, ""))
        #expect(run.output == ConfigurationExample.text)
    }

    private func read(_ text: String) throws -> ConfigurationSources {
        let file = FileManager.default.temporaryDirectory.appending(path: "example-\(UUID().uuidString).yaml")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try ConfigurationSources(path: file.path, environment: [:])
    }
}
