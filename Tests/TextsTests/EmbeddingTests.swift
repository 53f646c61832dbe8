import Foundation
import TestSupport
import Testing

/// The build step, run as the build runs it.
@Suite struct EmbeddingTests {
    private static let months = """
        {"january": "1", "february": "2", "march": "3", "april": "4", "may": "5", "june": "6", "july": "7", "august": "8",
        "september": "9", "october": "10", "november": "11", "december": "12"}
        """

    private static func file(
        pages: String = #""greeting": "Hello {{name}}""#, rest: String = #", "errors": {}, "failures": {}, "mails": {}"#
    ) -> String { "{\"months\": \(months), \"pages\": {\(pages)}\(rest)}" }

    private func embed(_ files: [String: String]) async throws -> Embedding {
        try await Embedding.run("embed-texts", on: files)
    }

    @Test func `languages become one Swift file, English first`() async throws {
        let result = try await embed([
            "de.json": Self.file(pages: #""greeting": "{{name}}, hallo""#), "en.json": Self.file(),
        ])
        #expect(result.code == 0, "\(result.message)")
        #expect(result.source.contains("    case en = \"en\"\n    case de = \"de\"\n}"))
        #expect(result.source.contains("case `greeting`"))
        #expect(result.source.contains("{{name}}, hallo"))
    }

    @Test func `no text ends its literal, or escapes anything`() async throws {
        let result = try await embed([
            "en.json": Self.file(
                pages: #""greeting": "x""#,
                rest: #", "errors": {}, "failures": {}, "mails": {"a": "\" + \\(evil) #\n\nb"}"#)
        ])
        #expect(result.code == 0, "\(result.message)")
        #expect(result.source.contains(#"\u{22} \u{2b} \u{5c}(evil) \u{23}\u{a}\u{a}b"#))
    }

    @Test(
        arguments: [
            ("de.json", #""greeting": "Hallo""#, "pages.greeting has the placeholders"),
            ("de.json", #""greeting": "Hallo {{name}} {{more}}""#, "pages.greeting has the placeholders"),
            ("de.json", #""greeting": "Hallo {name}""#, "or a malformed placeholder"),
            ("de.json", #""greeting": "<b>{{name}}</b>""#, "has one of"),
            ("de.json", "", "pages.greeting is missing; translate “Hello {{name}}”"),
            ("de.json", #""greeting": "{{name}}", "other": "x""#, "pages.other is not in en.json"),
            ("de.json", #""greeting": "{{name}}", "greeting": "{{name}}""#, "a name that comes twice"),
            ("de.json", #""greeting": "{{name}} ""#, "begins or ends with a space"),
            ("de.json", #""greeting": 1"#, "pages.greeting is no text"),
            ("German.json", #""greeting": "{{name}}""#, "named by its tag"),
        ])
    func `a fault stops the build, and names file and text`(_ name: String, _ pages: String, _ sentence: String)
        async throws
    {
        let result = try await embed(["en.json": Self.file(), name: Self.file(pages: pages)])
        #expect(result.code == 1)
        #expect(result.message.contains("/\(name): error: "), "\(result.message)")
        #expect(result.message.contains(sentence), "\(result.message)")
    }

    @Test func `without English there is nothing to compare with`() async throws {
        #expect(try await embed(["de.json": Self.file()]).code == 1)
        #expect(try await embed(["en.json": "{}"]).code == 1)
    }
}
