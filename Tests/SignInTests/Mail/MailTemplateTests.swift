import Accounts
import Foundation
import SignIn
import TestSupport
import Testing
import Texts

/// Each a file, what is in it, and the beginning of what is said of it.
private let templateFaults = Result { try DataFile("TemplateFaults.json").decoded(as: [[String]].self) }

/// An operator's own templates: what they may hold, and the faults that are reported.
@Suite(.timeLimit(.minutes(5))) struct MailTemplateTests {
    private static let own = [
        "en/sign_in_code.txt": "Subject: {{service}}: sign in\n\nCode {{code}}, {{minutes}} minutes.\n",
        "en/sign_in_code.html": "<p class=\"{{service}}\">{{code}}</p>\n",
    ]

    /// All kinds in a language that is not built in.
    private static func swedish() -> [String: String] {
        var files: [String: String] = [:]
        for kind in Mail.Kind.allCases {
            let code = kind.rawValue.hasSuffix("_code") ? " {{code}}" : ""
            files["sv/\(kind.rawValue).txt"] = "Subject: Å \(kind.rawValue)\r\n\r\nHej\(code) !\r\n"
            files["sv/\(kind.rawValue).html"] = "<p>Hej\(code) !</p>"
        }
        return files
    }

    /// Runs `body` with a service that has these templates.
    private static func run(_ files: [String: String], _ body: (MailFixture) async throws -> Void) async throws {
        let directory = try ScratchDirectory(templates: files)
        defer { directory.remove() }
        try await MailFixture.run(templates: try directory.templates(), body)
    }

    @Test func `a template of one's own takes the place of the built-in one, and of no other`() async throws {
        try await Self.run(Self.own) { fixture in
            try await fixture.addAccount("kim@example.com")
            let code = try await fixture.issue(.signIn, to: "kim@example.com")
            let digits = try #require(fixture.codes.digits(of: code))
            try await fixture.enqueue("password_changed", to: "kim@example.com")
            try await fixture.issue(.resetPassword, to: "kim@example.com", in: "de")
            try await fixture.work()
            let arrived = try await fixture.arrived()
            #expect(arrived.count == 3)
            let mine = try #require(arrived.first { $0.header("Subject") == "Lamp: sign in" })
            #expect(mine.text == "Code \(digits), 10 minutes.\n")
            #expect(mine.html == "<p class=\"Lamp\">\(digits)</p>\n")
            #expect(arrived.contains { $0.header("Subject") == "The password of your Lamp account was changed" })
            #expect(arrived.contains { $0.header("Subject") == "Ihr Code für ein neues Passwort bei Lamp" })
        }
    }

    @Test func `a language can be added, and its files may have line ends of any kind`() async throws {
        let directory = try ScratchDirectory(templates: Self.swedish())
        defer { directory.remove() }
        let templates = try directory.templates()
        #expect(templates.languages == Language.allCases.map(\.rawValue) + ["sv"])
        try await MailFixture.run(templates: templates) { fixture in
            let message = try await fixture.arrival(of: "password_changed", in: "sv")
            #expect(message.header("Subject") == "Å password_changed")
            #expect(message.header("Content-Language") == "sv")
            #expect(message.text == "Hej !\n")
        }
    }

    @Test func `a text in another script is as long as it needs to be`() async throws {
        let text = String(repeating: "光あれ。", count: 5_000)
        try await Self.run([
            "en/password_changed.txt": "Subject: 光\n\n\(text)\n", "en/password_changed.html": "<p>\(text)</p>\n",
        ]) { fixture in
            let message = try await fixture.arrival(of: "password_changed")
            #expect(message.header("Subject") == "光")
            #expect(message.text == "\(text)\n")
            #expect(message.html == "<p>\(text)</p>\n")
            #expect(message.defects.isEmpty)
        }
    }

    @Test func `dots, long lines and spaces at their ends arrive as they were written`() async throws {
        let text = ".\n..\nFrom here\n\(String(repeating: "word ", count: 300))\nspaces   \ntab\t\n=3D =\n\nthe end"
        try await Self.run([
            "en/password_changed.txt": "Subject: dots\n\n\(text)", "en/password_changed.html": text,
        ]) { fixture in
            let message = try await fixture.arrival(of: "password_changed")
            // The line break before a boundary belongs to that (RFC 2046 §5.1.1).
            #expect(message.text == text)
            #expect(message.html == text)
        }
    }

    @Test func `files whose names begin with a dot are left alone`() throws {
        let directory = try ScratchDirectory(templates: Self.own)
        defer { directory.remove() }
        try directory.write(".git/config", "")
        // As Kubernetes mounts a ConfigMap: each name a link into a directory that is exchanged as a whole.
        try directory.write("..data/password_changed.txt", "Subject: a\n\nb")
        try FileManager.default.createSymbolicLink(
            atPath: directory.url.appending(path: "en/password_changed.txt").path,
            withDestinationPath: "../..data/password_changed.txt")
        try directory.write("en/password_changed.html", "b")
        #expect(directory.faults() == [])
    }

    @Test(arguments: try templateFaults.get())
    func `a fault names its file`(_ row: [String]) throws {
        let (file, text, sentence) = (row[0], row[1], row[2])
        let directory = try ScratchDirectory(templates: Self.own.merging([file: text]) { $1 })
        defer { directory.remove() }
        let faults = directory.faults()
        #expect(faults.contains { $0.hasPrefix(sentence) }, "\(faults)")
        // Nothing else is wrong, except in a language that is not there at all.
        if !file.hasPrefix("sv/") { #expect(faults.count == 1, "\(faults)") }
    }

    @Test func `what is not UTF-8, or too large, or no file is a fault`() throws {
        let directory = try ScratchDirectory(templates: Self.own)
        defer { directory.remove() }
        let html = directory.url.appending(path: "en/sign_in_code.html")
        try Data(Array("{{code}} caf".utf8) + [0xE9]).write(to: html)
        #expect(directory.faults() == ["en/sign_in_code.html: is not UTF-8"])
        let fitting = "{{code}}" + String(repeating: "x", count: 65_536 - 8)
        try directory.write("en/sign_in_code.html", fitting)
        #expect(directory.faults() == [])
        try directory.write("en/sign_in_code.html", fitting + "x")
        #expect(directory.faults() == ["en/sign_in_code.html: is larger than 64 KiB"])
        try FileManager.default.removeItem(at: html)
        try FileManager.default.createDirectory(at: html, withIntermediateDirectories: false)
        #expect(directory.faults() == ["en/sign_in_code.html: can't be read"])
    }

    @Test func `all faults are reported at once, and a directory that isn't there is one`() throws {
        let directory = try ScratchDirectory(templates: ["en/a.txt": "", "en/b.txt": "", "xx-/c.txt": ""])
        defer { directory.remove() }
        #expect(directory.faults().count == 3)
        let missing = #expect(throws: MailTemplateFaults.self) {
            try MailTemplates(serviceName: "Lamp", directory: "/nowhere/templates")
        }
        #expect(missing?.sentences == ["names no directory that can be read"])
    }
}

extension ScratchDirectory {
    fileprivate init(templates: [String: String]) throws {
        try self.init()
        for (name, text) in templates { try write(name, text) }
    }

    fileprivate func templates() throws -> MailTemplates { try MailTemplates(serviceName: "Lamp", directory: url.path) }

    fileprivate func faults() -> [String] {
        do {
            _ = try templates()
            return []
        } catch { return (error as? MailTemplateFaults)?.sentences ?? ["\(error)"] }
    }
}
