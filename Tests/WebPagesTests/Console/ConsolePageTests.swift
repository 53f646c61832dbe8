import Accounts
import Foundation
import Testing

@testable import WebPages

struct ConsolePageTests {
    private static let probe = #""'><script>alert(1)</script>&{{title}}\#u{202E}"#

    private static func html(_ page: ConsolePage, in frame: ConsoleRenderer.Frame? = nil) -> String {
        String(decoding: ConsoleRenderer().html(page, in: frame), as: UTF8.self)
    }

    /// Every place of a page that takes a text of somebody else's.
    @Test func `a text stays a text in every place of a page`() {
        let probe = Self.probe
        let cells: [ConsoleCell] = [
            .text(probe), .code(probe), .link(probe, to: "/\(probe)"), .badge(probe, .bad),
            .button(probe, to: "/\(probe)"),
            .lines([.text(probe), .code(probe)]), .row([.text(probe)]),
        ]
        var page = ConsolePage(probe, notice: .error(probe))
        page.refreshPath = "/\(probe)"
        page.blocks = [
            .heading(probe), .paragraph(.row(cells)), .facts(cells.map { ConsoleFact(probe, $0) }), .buttons(cells),
            .table(ConsoleTable(caption: probe, columns: [probe], rows: cells.map { [$0] }, next: "/\(probe)")),
            .table(ConsoleTable(caption: probe, columns: [probe], rows: [], whenEmpty: probe)),
            .form(
                ConsoleForm(
                    action: "/\(probe)", csrf: probe,
                    fields: [
                        .init(name: probe, label: probe, kind: .text(maximumBytes: 10), value: probe, hint: probe),
                        .init(name: probe, label: probe, kind: .search, value: probe, hint: probe),
                        .init(name: probe, label: probe, kind: .secret),
                        .init(name: probe, label: probe, kind: .checkbox),
                        .init(name: probe, label: probe, kind: .hidden, value: probe),
                        .init(name: probe, label: probe, kind: .choice([(probe, probe)]), value: probe),
                    ], button: probe, cancel: "/\(probe)")),
        ]
        let frame = ConsoleRenderer.Frame(
            keyName: probe, links: [(probe, "/\(probe)")], path: "/\(probe)/x",
            signOut: FormTarget(action: "/\(probe)", csrf: probe))
        let html = Self.html(page, in: frame)
        #expect(!html.contains("<script"))
        #expect(!html.contains("\u{202E}"))
        // Its quotes end no attribute: each is written as a reference.
        #expect(html.components(separatedBy: "alert(1)").count > 40)
        #expect(!html.contains(#""'>"#))
        #expect(html.contains("{{title}}"))
    }

    @Test func `a page with an error says so in its title, and the field that it is about points at it`() throws {
        let fields: [ConsoleForm.Field] = [
            .init(name: "email", label: "New address", kind: .text(maximumBytes: 254), value: "nonsense"),
            .init(name: "since", label: "Since", kind: .text(maximumBytes: 32), hint: "In UTC."),
            .init(name: "q", label: "Find", kind: .search),
        ]
        func page(_ notice: ConsoleNotice, _ field: String? = nil) throws -> HTMLDocument {
            let marked = fields.marked(by: ConsoleFault(sentence: notice.text, field: field))
            let form = ConsoleForm(action: "/console/x", csrf: "t", fields: marked, button: "Do it")
            return try HTMLDocument(ConsoleRenderer().html(ConsolePage("Act", notice: notice, [.form(form)]), in: nil))
        }
        let done = try page(.done("It is done."))
        #expect(done.all("title").first?.text == "Act – Countersign console")
        #expect(done.elements.contains { $0.attributes["role"] == "status" })
        #expect(!done.elements.contains { $0.attributes["id"] == "error" })
        let expected: [(field: String?, described: [String?])] = [
            (nil, [nil, "since-hint", nil]), ("email", ["error", "since-hint", nil]),
            ("since", [nil, "error since-hint", nil]), ("q", [nil, "since-hint", "error"]),
        ]
        for (field, described) in expected {
            let refused = try page(.error("No."), field)
            #expect(refused.all("title").first?.text == "Error: Act – Countersign console")
            let alert = refused.elements.first { $0.attributes["role"] == "alert" }
            #expect(alert?.attributes["id"] == "error" && alert?.text == "No.")
            let inputs = refused.all("input").map(\.attributes).filter { $0["type"] != "hidden" }
            #expect(inputs.map { $0["aria-describedby"] } == described)
            for input in inputs {
                let isMarked = input["aria-invalid"] == "true" && input["autofocus"] != nil
                #expect(isMarked == (input["name"] == field))
            }
        }
    }

    @Test func `a time is UTC to the second, and without one there is a dash`() {
        let cell = ConsoleCell.time(Timestamp(rfc3339: "2026-11-23T08:09:10Z"))
        #expect(cell.markup.markup == #"<time datetime="2026-11-23T08:09:10Z">2026-11-23 08:09:10</time>"#)
        #expect(ConsoleCell.time(nil).markup.markup == "–")
        #expect(ConsoleCell.text("").markup.markup == "–")
    }

    @Test(
        arguments: [
            ("22:00:00", "19:50–20:50"), ("20:04:59", "19:50–20:04"), ("19:50:59", "19:50"), ("19:00:00", "19:50"),
        ] as [(String, String)])
    func `a noted time reaches to the next note, and no further than now`(now: String, shown: String) throws {
        let now = try #require(Timestamp(rfc3339: "2026-11-29T\(now)Z"))
        let cell = ConsoleCell.noted(Timestamp(rfc3339: "2026-11-29T19:50:39Z"), everySeconds: 3_600, at: now)
        #expect(cell.markup.markup == #"<time datetime="2026-11-29T19:50:39Z">2026-11-29 \#(shown)</time>"#)
    }

    @Test(
        arguments: [
            (-5, "0 s"), (0, "0 s"), (59, "59 s"), (60, "1 min"), (3_599, "59 min"), (3_660, "1 h 1 min"),
            (90_000, "1 d 1 h"),
        ] as [(Int64, String)])
    func `a length of time is said in two units`(seconds: Int64, text: String) {
        #expect(ConsoleCell.duration(seconds) == text)
    }

    @Test func `the colours of the style sheet have enough contrast, in light and in dark`() throws {
        let rules = ConsoleStyle.text.components(separatedBy: "\n")
        for rule in [rules[0], rules[1]] {
            var colours: [String: [Double]] = [:]
            for match in rule.matches(of: /--([a-z-]+):#([0-9a-f]{6})/) {
                let value = try #require(Int(match.2, radix: 16))
                colours[String(match.1)] = [value >> 16, value >> 8 & 255, value & 255].map { Double($0) / 255 }
            }
            func luminance(_ name: String) throws -> Double {
                let parts = try #require(colours[name], "\(name)").map {
                    $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4)
                }
                return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
            }
            func contrast(_ one: String, _ other: String) throws -> Double {
                let pair = [try luminance(one), try luminance(other)].sorted()
                return (pair[1] + 0.05) / (pair[0] + 0.05)
            }
            for surface in ["page", "card"] {
                for ink in ["text", "muted", "link", "bad"] {
                    #expect(try contrast(ink, surface) >= 4.5, "\(ink) on \(surface)")
                }
                for mark in ["bar", "bar-refused", "field"] { #expect(try contrast(mark, surface) >= 3, "\(mark)") }
            }
            for (ink, surface) in [("good", "good-card"), ("bad", "bad-card"), ("on-accent", "accent")] {
                #expect(try contrast(ink, surface) >= 4.5, "\(ink) on \(surface)")
            }
        }
    }
}
