import Accounts
import Foundation
import SignIn
import TestSupport
import Testing
import Texts

/// Mail that has arrived, as Python's email package reads it.
@Suite(.fixture(MailFixture.self), .timeLimit(.minutes(5))) struct MailMessageTests {
    var fixture: MailFixture { .current }

    private static let usualHeaders = [
        "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "Content-Language", "MIME-Version",
        "Content-Type",
    ]

    /// Expects lines as RFC 5322 §2.1.1, RFC 2045 §6.7 and RFC 2047 §2 have them, and nothing but ASCII in them.
    private static func expectSound(_ message: MailServer.Message) {
        let bytes = [UInt8](message.content)
        #expect(bytes.allSatisfy { $0 < 0x80 })
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.components(separatedBy: "\r\n")
        #expect(!lines.contains { $0.utf8.contains(0x0D) || $0.utf8.contains(0x0A) })
        // Such a space may be lost on the way (RFC 2045 §6.7, rule 3).
        #expect(!lines.contains { $0.utf8.last == 0x20 || $0.utf8.last == 0x09 })
        let long = lines.filter { $0.utf8.count > 76 }
        #expect(long.allSatisfy { $0.hasPrefix("Content-Type: multipart") || $0.hasPrefix("Message-ID") }, "\(long)")
        #expect(message.defects.isEmpty, "\(message.defects)")
        #expect(message.headers.map { $0[0] } == usualHeaders)
    }

    @Test func `every mail is there in every language, with all that it has to say`() async throws {
        try await fixture.addAccount("kim@example.com", proof: .claimed)
        var queued: [(kind: Mail.Kind, language: String, digits: String?)] = []
        for language in Language.allCases.map(\.rawValue) {
            for purpose in EmailCodePurpose.allCases {
                // Who registers has no account yet.
                let address = purpose == .register ? "new@example.com" : "kim@example.com"
                let code = try await fixture.issue(purpose, to: address, in: language)
                queued.append((Mail.Kind(code: purpose), language, fixture.codes.digits(of: code)))
                // One code lives for each purpose, so each is sent before the next language.
                try await fixture.work()
            }
            for kind in Mail.Kind.allCases
            where !EmailCodePurpose.allCases.map(Mail.Kind.init(code:)).contains(kind) {
                try await fixture.enqueue(kind.rawValue, to: "kim@example.com", in: language, provider: .google)
                queued.append((kind, language, nil))
                try await fixture.work()
            }
            // A live code would only be mailed again.
            fixture.clock.advance(by: Lifetimes.emailCodeSeconds)
        }
        let arrived = try await fixture.arrived()
        #expect(arrived.count == Language.allCases.count * Mail.Kind.allCases.count)
        for (message, (kind, language, digits)) in zip(arrived, queued) {
            Self.expectSound(message)
            let text = try #require(message.text)
            let html = try #require(message.html)
            let subject = try #require(message.header("Subject"))
            #expect(subject.contains(MailFixture.service) || kind == .verifyEmailCode, "\(subject)")
            #expect(text.contains(MailFixture.service))
            // The title is text alone. Beside words of the other direction the signs of a name would change their places.
            let parts = html.components(separatedBy: "</head>")
            try #require(parts.count == 2 && !parts[0].contains("bdi"))
            #expect(parts[1].contains("<bdi>Lamp &amp; Söhne</bdi>"))
            let words = parts[1].replacing(/<bdi>(Lamp &amp; Söhne|Google|)<\/bdi>/, with: "")
            #expect(!words.contains(/Lamp|Google|bdi/), "\(words)")
            #expect(!(subject + text + html).contains("{{"))
            #expect(message.header("Content-Language") == language)
            #expect(html.contains("<html lang=\"\(language)\" dir=\"\(language == "ar" ? "rtl" : "ltr")\">"))
            let warning = try #require(
                Language(rawValue: language).flatMap {
                    LanguageTexts.embedded($0).mails["\(kind.rawValue).warning"]
                })
            let beginning = warning.prefix { $0 != "{" }
            #expect(text.contains(beginning))
            #expect(html.contains(beginning))
            if let digits {
                #expect(digits.utf8.count == 6)
                #expect(text.contains("    \(digits)\n"))
                #expect(html.contains(">\(digits)</p>"))
                #expect(text.contains("10"))
                // Subjects are shown on locked screens, and kept in the logs of mail servers.
                #expect(!subject.contains(digits))
            }
            if kind.rawValue.hasPrefix("identity_") {
                #expect(subject.contains("Google"))
                #expect(text.contains("Google"))
                #expect(html.contains("Google"))
            }
        }
        #expect(Set(arrived.compactMap(\.text)).count == Language.allCases.count * Mail.Kind.allCases.count)
        let subjects = Set(arrived.compactMap { $0.header("Subject") })
        #expect(subjects.count == Language.allCases.count * Mail.Kind.allCases.count)
    }

    @Test func `the headers say who, to whom, when, and that nobody is to answer by machine`() async throws {
        let message = try await fixture.arrival(of: "password_changed", in: "de")
        #expect(message.sender == MailFixture.sender)
        #expect(message.recipients == ["kim@example.com"])
        #expect(message.header("From") == "\(MailFixture.service) <\(MailFixture.sender)>")
        #expect(message.header("To") == "kim@example.com")
        #expect(message.header("Subject") == "Das Passwort Ihres Kontos bei Lamp & Söhne wurde geändert")
        #expect(message.header("Date") == "Thu, 01 Jan 2026 00:00:00 +0000")
        let id = try #require(message.header("Message-ID"))
        #expect(id.wholeMatch(of: /<[0-9a-f-]{36}@auth\.example\.com>/) != nil, "\(id)")
        #expect(message.header("Auto-Submitted") == "auto-generated")
        #expect(message.header("MIME-Version") == "1.0")
        #expect(message.header("Content-Type")?.hasPrefix("multipart/alternative;") == true)
    }

    @Test func `a date has its weekday`() async throws {
        for (seconds, date) in [
            (1_767_225_599, "Wed, 31 Dec 2025 23:59:59 +0000"), (1_772_323_200, "Sun, 01 Mar 2026 00:00:00 +0000"),
            (1_835_395_200, "Tue, 29 Feb 2028 00:00:00 +0000"), (4_102_444_800, "Fri, 01 Jan 2100 00:00:00 +0000"),
        ] as [(Int64, String)] {
            fixture.clock.set(to: seconds)
            #expect(try await fixture.arrival(of: "password_changed").header("Date") == date)
        }
    }

    /// The mail of a service of this name, and how many have arrived by then.
    private func mail(
        _ template: String, provider: Provider? = nil, serviceName: String
    ) async throws -> (count: Int, message: MailServer.Message) {
        try await fixture.enqueue(template, to: "kim@example.com", provider: provider)
        let worker = try fixture.makeWorker(templates: MailTemplates(serviceName: serviceName))
        #expect(try await worker.sendNext())
        let arrived = try await fixture.arrived()
        return (arrived.count, try #require(arrived.last))
    }

    @Test func `whatever the service is called, everybody reads its name`() async throws {
        for name in [
            "Lamp", "Lämpchen 💡 für 日本語", "a \"quoted\" name, with \\ and <angles>", "=?UTF-8?B?TGFtcA==?=",
            "👩‍👩‍👧‍👦 family of four, and combining: n\u{303}o\u{308}", String(repeating: "lang ", count: 19) + "Ende",
            String(repeating: "ö", count: 100), String(repeating: "x", count: 100), "trailing dots...", "{{code}}",
        ] {
            let message = try await mail("identity_linked", provider: .apple, serviceName: name).message
            Self.expectSound(message)
            #expect(message.header("Subject") == "Apple was linked to your \(name) account")
            #expect(message.text?.contains("sign in to \(name) with Apple.") == true, "\(message.text ?? "")")
            let escaped = name.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
                .replacing("\"", with: "&quot;")
            #expect(message.html?.contains("sign in to <bdi>\(escaped)</bdi> with <bdi>Apple</bdi>.") == true)
        }
    }

    @Test func `a line break in a value begins no header, no body and no second mail`() async throws {
        let names = [
            "Lamp\r\nBcc: eve@example.com", "Lamp\nBcc: eve@example.com", "Lamp\r\n\r\nAnother body",
            "Lamp\r\n.\r\nQUIT",
            "Lamp\u{0}\u{7F}", "Lamp\r\n Bcc: eve@example.com", "Lamp\u{85}Bcc: eve@example.com", "Lamp\"\r\nTo: x",
        ]
        for (index, name) in names.enumerated() {
            let (count, message) = try await mail("password_changed", serviceName: name)
            #expect(count == index + 1)
            #expect(message.recipients == ["kim@example.com"])
            #expect(message.headers.map { $0[0] } == Self.usualHeaders)
            #expect(message.header("Bcc") == nil)
            #expect(message.header("To") == "kim@example.com")
            #expect(message.header("Subject")?.hasPrefix("The password of your Lamp") == true)
            #expect(message.header("From")?.hasSuffix(" <\(MailFixture.sender)>") == true)
            #expect(message.defects.isEmpty)
        }
    }

    @Test func `a value is escaped in HTML and nowhere else`() async throws {
        let message = try await mail("password_changed", serviceName: "<b>\"Lamp\" & 'Co'").message
        #expect(message.html?.contains("&lt;b&gt;&quot;Lamp&quot; &amp; &#39;Co&#39;") == true)
        #expect(message.html?.contains("<b>") == false)
        #expect(message.text?.contains("<b>\"Lamp\" & 'Co'") == true)
    }

    @Test func `an address beyond ASCII stands in the header as it is`() async throws {
        let message = try await fixture.arrival(of: "password_changed", to: "kübra@example.com")
        #expect(message.recipients == ["kübra@example.com"])
        #expect(message.options.contains("SMTPUTF8"))
        #expect(message.header("To") == "kübra@example.com")
    }
}
