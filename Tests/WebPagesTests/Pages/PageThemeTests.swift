import OpenSSL
import Primitives
import Testing
import Texts

@testable import WebPages

@Suite struct PageThemeTests {
    /// What is read on what, and the ratio that WCAG 2.2 asks for: 4.5 for text (1.4.3), 3 for the edge of a field
    /// (1.4.11).
    private static let pairs: [(front: String, back: String, ratio: Double)] = [
        ("text", "page", 4.5), ("text", "card", 4.5), ("text", "raised", 4.5), ("muted", "page", 4.5),
        ("muted", "card", 4.5), ("muted", "raised", 4.5), ("link", "page", 4.5), ("link", "card", 4.5),
        ("link", "raised", 4.5), ("on-accent", "accent", 4.5), ("error", "card", 4.5), ("error", "error-card", 4.5),
        ("notice", "notice-card", 4.5), ("on-apple", "apple", 4.5), ("on-google", "google", 4.5), ("field", "card", 3),
        ("field", "raised", 3), ("google-line", "card", 3),
    ]

    /// The custom properties of the style sheet: light, then dark.
    private func schemes(_ accent: RGBColor?) throws -> [[String: RGBColor]] {
        let asset = try #require(Pages(theme: PageTheme(name: "x", accentColor: accent)).assets.first)
        let lines = String(decoding: asset.bytes, as: UTF8.self).split(separator: "\n").prefix(2)
        return lines.map { line in
            Dictionary(
                line.matches(of: /--([a-z-]+):(#[0-9a-f]{6})/).compactMap { match in
                    RGBColor(hex: String(match.2)).map { (String(match.1), $0) }
                }, uniquingKeysWith: { $1 })
        }
    }

    private func expectReadable(_ accent: RGBColor?) throws {
        for scheme in try schemes(accent) {
            for (front, back, ratio) in PageThemeTests.pairs {
                let contrast = try #require(scheme[front]).contrast(to: #require(scheme[back]))
                #expect(contrast >= ratio, "\(front) on \(back) with \(accent?.hex ?? "no accent")")
            }
        }
    }

    @Test func `the pages' own colours are readable in light and dark`() throws { try expectReadable(nil) }

    @Test func `any colour of an operator stays readable in light and dark`() throws {
        for hex in ["#000000", "#ffffff", "#767676", "#777777", "#ff0000", "#00ff00", "#0000ff", "#ffff00", "#7f7f7f"] {
            let color = try #require(RGBColor(hex: hex))
            try expectReadable(color)
        }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let bits = generator.next()
            let color = RGBColor(
                red: UInt8(truncatingIfNeeded: bits), green: UInt8(truncatingIfNeeded: bits >> 8),
                blue: UInt8(truncatingIfNeeded: bits >> 16))
            for scheme in [ColorScheme.light(accent: color), .dark(accent: color)] {
                let colors = Dictionary(uniqueKeysWithValues: scheme.colors.map { ($0.key, $0.value) })
                for (front, back, ratio) in PageThemeTests.pairs {
                    let contrast = try #require(colors[front]).contrast(to: #require(colors[back]))
                    #expect(contrast >= ratio, "\(front) on \(back) with \(color.hex)")
                }
            }
        }
    }

    @Test func `contrast is computed as WCAG does`() throws {
        #expect(abs(RGBColor.black.contrast(to: .white) - 21) < 0.001)
        #expect(abs(try #require(RGBColor(hex: "#767676")).contrast(to: .white) - 4.54) < 0.01)
        #expect(abs(try #require(RGBColor(hex: "#0000FF")).contrast(to: .white) - 8.59) < 0.01)
    }

    @Test(arguments: ["", "#fff", "0000000", "#00000g", "#0000000", "#0000 0", "red", "#ééé"])
    func `a colour is nothing but #rrggbb`(_ text: String) { #expect(RGBColor(hex: text) == nil) }

    @Test func `the style sheet loads nothing, and follows the reader's settings`() throws {
        for theme in [PageTheme.plain, .operated] {
            let asset = try #require(Pages(theme: theme).assets.first)
            let css = String(decoding: asset.bytes, as: UTF8.self)
            #expect(asset.mediaType == "text/css; charset=utf-8" && asset.bytes.count < 12 * 1024)
            #expect(!css.contains("url(") && !css.contains("@import") && !css.contains("!important"))
            for query in ["prefers-color-scheme:dark", "prefers-reduced-motion", "forced-colors", "prefers-contrast"] {
                #expect(css.contains(query), "\(query)")
            }
            // Every side is a logical one, so that `dir=rtl` mirrors the page.
            let physical = /(?:margin|padding|border)-(?:left|right)|text-align:(?:left|right)|float/
            #expect(css.firstMatch(of: physical) == nil)
            #expect(css.count(where: { $0 == "{" }) == css.count(where: { $0 == "}" }))
            let used = Set(css.matches(of: /var\(--([a-z-]+)\)/).map { String($0.1) })
            let defined = Set(ColorScheme.light(accent: .black).colors.map(\.key))
            #expect(used == defined)
        }
    }

    @Test func `a page loads the theme's assets, each by the hash of its bytes`() throws {
        let pages = Pages(theme: .operated)
        #expect(pages.assets.count == 3)
        for asset in pages.assets {
            let hash = Hexadecimal.encode(SHA256.hash(asset.bytes).prefix(8))
            #expect(asset.path.hasPrefix("/web/assets/") && asset.path.contains("-\(hash)."))
        }
        let page = try #require(PageSamples().pages.first { $0.name == "chooser" }).page
        let document = try HTMLDocument(pages.html(page, language: .en))
        let loaded = document.elements.flatMap { element in
            ["src", "href"].compactMap { element.attributes[$0] }.filter { $0.hasPrefix("/web/assets/") }
        }
        #expect(Set(loaded) == Set(pages.assets.map(\.path)))
    }

    @Test func `the links of the operator stand in the footer, and only those that are set`() throws {
        let page = try #require(PageSamples().pages.first { $0.name == "chooser" }).page
        let document = try HTMLDocument(Pages(theme: .operated).html(page, language: .en))
        let links = document.all("a").filter { $0.path.contains("footer") }
        #expect(links.map(\.text) == ["Help", "Privacy", "Terms"])
        #expect(links.last?.attributes["href"] == "https://example.com/terms")
        let bare = try HTMLDocument(Pages(theme: .plain).html(page, language: .en))
        #expect(bare.all("footer").isEmpty)
    }
}
