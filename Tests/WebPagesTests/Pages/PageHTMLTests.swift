import Foundation
import Testing
import Texts

@testable import WebPages

/// Every page, in every language and two themes.
@Suite struct PageHTMLTests {
    private static let pages = [Pages(theme: .plain), Pages(theme: .operated)]

    private func forEachPage(_ body: (String, HTMLDocument, [UInt8], Language) throws -> Void) throws {
        for pages in PageHTMLTests.pages {
            for (name, page) in PageSamples().pages {
                for language in Language.allCases {
                    let bytes = pages.html(page, language: language)
                    try body("\(name) in \(language.rawValue)", HTMLDocument(bytes), bytes, language)
                }
            }
        }
    }

    @Test func `the samples are of every page that there is, and of no other`() {
        let sampled = Set(PageSamples().pages.map { type(of: $0.page).templateName })
        #expect(sampled == Set(Pages.all.map { $0.templateName }))
        #expect(sampled.count == Pages.all.count)
    }

    @Test func `every page is well-formed, below 30 KiB and says its language`() throws {
        try forEachPage { name, document, bytes, language in
            #expect(bytes.count < 30 * 1024, "\(name)")
            let root = try #require(document.elements.first)
            let direction = language.isRightToLeft ? "rtl" : "ltr"
            #expect(root.name == "html", "\(name)")
            #expect(root.attributes == ["lang": language.rawValue, "dir": direction], "\(name)")
            #expect(!String(decoding: bytes, as: UTF8.self).contains("{{"), "\(name)")
        }
    }

    @Test func `no page has script, inline style or anything of another origin`() throws {
        let allowed: Set = [
            "html", "head", "meta", "title", "link", "body", "header", "main", "footer", "h1", "h2", "p", "div", "span",
            "a", "form", "input", "label", "button", "ul", "li", "bdi", "img", "svg", "path",
        ]
        try forEachPage { name, document, _, _ in
            for element in document.elements {
                #expect(allowed.contains(element.name), "\(element.name) on \(name)")
                for (attribute, value) in element.attributes {
                    #expect(attribute != "style" && !attribute.hasPrefix("on"), "\(attribute) on \(name)")
                    #expect(!value.contains("javascript:"), "\(attribute) on \(name)")
                    if attribute == "src" || element.name == "link" && attribute == "href" || attribute == "action" {
                        #expect(value.hasPrefix("/web/"), "\(value) on \(name)")
                    }
                }
            }
        }
    }

    @Test func `every form is a POST with one csrf, its buttons say what they do`() throws {
        try forEachPage { name, document, bytes, _ in
            let html = String(decoding: bytes, as: UTF8.self)
            let forms = html.components(separatedBy: "<form ").dropFirst().map {
                $0.components(separatedBy: "</form>")[0]
            }
            for form in forms {
                #expect(form.contains("method=\"post\" action=\"/web/"), "\(name)")
                #expect(form.components(separatedBy: "name=\"csrf\"").count == 2, "\(name)")
                #expect(form.contains("<button"), "\(name)")
            }
            for button in document.all("button") + document.all("a") { #expect(!button.text.isEmpty, "\(name)") }
        }
    }

    @Test func `every page has one main, one h1, labelled fields and a title that begins with the error`() throws {
        try forEachPage { name, document, _, _ in
            #expect(document.all("main").count == 1 && document.all("h1").count == 1, "\(name)")
            #expect(document.all("title").count == 1, "\(name)")
            let title = try #require(document.all("title").first).text
            let heading = try #require(document.all("h1").first).text
            #expect(!heading.isEmpty && title.contains(heading), "\(title) of \(name)")
            let ids = document.elements.compactMap { $0.attributes["id"] }
            #expect(Set(ids).count == ids.count, "\(name)")
            let labels = document.all("label").compactMap { $0.attributes["for"] }
            let fields = document.all("input").filter { $0.attributes["type"] != "hidden" }
            #expect(fields.compactMap { $0.attributes["id"] } == labels, "\(name)")
            for field in fields { #expect(field.attributes["autocomplete"] != nil, "\(name)") }
            for reference in document.elements.compactMap({
                $0.attributes["aria-describedby"] ?? $0.attributes["aria-labelledby"]
            }) {
                #expect(reference.split(separator: " ").allSatisfy { ids.contains(String($0)) }, "\(name)")
            }
            let hasError = document.elements.contains { $0.attributes["id"] == "error" }
            #expect(title.hasPrefix(heading) != hasError, "\(title) of \(name)")
            #expect(document.elements.count { $0.attributes["autofocus"] != nil } <= 1, "\(name)")
        }
    }

    @Test(arguments: FormError.allCases.filter(\.isFault))
    func `an error is an alert that its fields point at`(_ error: FormError) throws {
        let page = ChooserPage(
            purpose: .account, providers: [], password: FormTarget(action: "/web/password", csrf: "t"),
            emailCodeLink: nil, cancel: nil, email: "a@example.com", error: error)
        let document = try HTMLDocument(Pages(theme: .plain).html(page, language: .en))
        let alert = try #require(document.elements.first { $0.attributes["role"] == "alert" })
        #expect(alert.attributes["id"] == "error" && !alert.text.isEmpty)
        for field in document.all("input") where field.attributes["type"] != "hidden" {
            let isMarked = error.fields.contains { $0.rawValue == field.attributes["name"] }
            #expect((field.attributes["aria-invalid"] == "true") == isMarked)
            #expect((field.attributes["aria-describedby"] == "error") == isMarked)
        }
    }

    @Test func `what a person chose at a provider is a notice, and no error`() throws {
        let page = ChooserPage(
            purpose: .account, providers: [], password: nil, emailCodeLink: nil, cancel: nil,
            error: .cancelledAtProvider)
        let document = try HTMLDocument(Pages(theme: .plain).html(page, language: .en))
        let notice = try #require(document.elements.first { $0.attributes["role"] == "status" })
        #expect(notice.attributes["class"] == "notice" && notice.text.hasPrefix("You cancelled."))
        #expect(!document.elements.contains { $0.attributes["role"] == "alert" })
        #expect(try #require(document.all("title").first).text.hasPrefix("Sign in to "))
    }

    @Test func `fields have the purpose that password managers look for`() throws {
        func field(_ name: String, on page: String) throws -> [String: String] {
            let document = try Self.document(of: page)
            return try #require(document.all("input").first { $0.attributes["id"] == name }).attributes
        }
        #expect(try field("email", on: "chooser")["autocomplete"] == "username")
        #expect(try field("email", on: "chooser")["inputmode"] == "email")
        #expect(try field("password", on: "chooser")["autocomplete"] == "current-password")
        #expect(try field("password", on: "create-mailbox")["autocomplete"] == "new-password")
        #expect(try field("password", on: "conflict-password")["autocomplete"] == "current-password")
        #expect(try field("code", on: "code-entry-signIn")["autocomplete"] == "one-time-code")
        #expect(try field("code", on: "code-entry-signIn")["inputmode"] == "numeric")
        #expect(try field("email", on: "password")["value"] == "mira.novak@example.com")
        // Where a password is set without the address being typed beside it.
        for page in ["password-change", "password-first", "forgot-weak", "create-mailbox"] {
            let inputs = try Self.document(of: page).all("input").map(\.attributes)
            let owner = try #require(inputs.lastIndex { $0["autocomplete"] == "username" }, "\(page)")
            let password = try #require(inputs.firstIndex { $0["autocomplete"] == "new-password" }, "\(page)")
            #expect(owner < password, "\(page)")
            let expected = [
                "type": "text", "autocomplete": "username", "value": "mira.novak@example.com", "readonly": "",
                "hidden": "",
            ]
            #expect(inputs[owner] == expected, "\(page)")
        }
    }

    @Test(arguments: [
        #"<script>alert(1)</script>"#, #"" autofocus onfocus="alert(1)"#, "'><img src=x onerror=alert(1)>",
        "\"\u{301} onmouseover=\"alert(1)", "<\u{338}b>", "&lt;b&gt; {{text.cancel}} {{{csrf}}}", "</title></main>",
        "evil\u{202E}moc.elpmaxe@arim\u{2066}\u{200F}\u{0}\u{85}\u{2028}",
    ])
    func `a name is only ever text`(_ hostile: String) throws {
        let samples = PageSamples(
            app: hostile, client: hostile, email: hostile, masked: hostile, displayName: hostile, sentence: hostile,
            uri: "com.example.lamp:/?state=" + hostile, reference: hostile)
        let pages = [
            Pages(theme: .plain),
            Pages(theme: PageTheme(name: hostile, privacyURL: hostile, termsURL: hostile, helpURL: hostile)),
        ]
        let harmless = [
            Pages(theme: .plain), Pages(theme: PageTheme(name: "x", privacyURL: "x", termsURL: "x", helpURL: "x")),
        ]
        for (pages, harmless) in zip(pages, harmless) {
            for (hostilePage, plainPage) in zip(samples.pages, PageSamples().pages) {
                let bytes = pages.html(hostilePage.page, language: .de)
                let document = try HTMLDocument(bytes)
                let expected = try HTMLDocument(harmless.html(plainPage.page, language: .de))
                #expect(document.shape == expected.shape, "\(hostilePage.name)")
                let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
                #expect(
                    !scalars.contains { "\u{202E}\u{2066}\u{200F}\u{0}\u{85}\u{2028}".unicodeScalars.contains($0) },
                    "\(hostilePage.name)")
            }
        }
    }

    @Test func `a way back into an app is a refresh and a link`() throws {
        let document = try Self.document(of: "open-app-signedIn")
        let uri = "com.example.lamp:/signed-in?code=c0de&amp;state=st4te&amp;iss=https%3A%2F%2Fauth.example.com"
        let refresh = try #require(document.all("meta").first { $0.attributes["http-equiv"] == "refresh" })
        #expect(refresh.attributes["content"] == "0; url=\(uri)")
        let link = try #require(document.all("a").first)
        #expect(link.attributes["href"] == uri && link.text == "Open Lamp")
    }

    @Test func `only a way back into an app refreshes`() throws {
        try forEachPage { name, document, _, _ in
            let refreshes = document.all("meta").contains { $0.attributes["http-equiv"] == "refresh" }
            #expect(refreshes == name.hasPrefix("open-app"), "\(name)")
        }
    }

    @Test func `Google's mark is theirs, unaltered`() throws {
        let document = try Self.document(of: "chooser")
        let colors = document.all("path").compactMap { $0.attributes["fill"] }
        #expect(colors == ["#EA4335", "#4285F4", "#FBBC05", "#34A853"])
        #expect(document.all("path").allSatisfy { $0.path.contains("button") })
    }

    @Test func `the suggested choice comes first and stands out`() throws {
        for (name, first) in [("link-claimed", "create"), ("link-stated", "bind"), ("link-proven", "bind")] {
            let document = try Self.document(of: name)
            let primary = document.elements.filter { $0.attributes["class"]?.hasSuffix("primary") == true }
            #expect(primary.count == 1)
            #expect(primary.first?.attributes["href"]?.hasSuffix("with=\(first)") == true, "\(name)")
            #expect(document.all("a").first?.attributes["href"] == primary.first?.attributes["href"])
        }
    }

    /// The page of that name among the samples, in English.
    private static func bytes(of sample: String) throws -> [UInt8] {
        let page = try #require(PageSamples().pages.first { $0.name == sample }).page
        return Pages(theme: .plain).html(page, language: .en)
    }

    private static func document(of sample: String) throws -> HTMLDocument { try HTMLDocument(bytes(of: sample)) }

    private static func html(of sample: String) throws -> String {
        String(decoding: try bytes(of: sample), as: UTF8.self)
    }

    @Test func `who is to sign in for an act reads which, and is offered no new account`() throws {
        #expect(try Self.html(of: "chooser-account").contains(#"value="register""#))
        for (name, sentence) in [
            (
                "chooser-link",
                "To add <bdi>Google</bdi> to your account, sign in. "
                    + "It’s been a while since you signed in, so please do it once more.</p>"
            ), ("chooser-delete", "To delete your account, sign in.</p>"),
        ] {
            let html = try Self.html(of: name)
            #expect(html.contains(sentence), "\(html)")
            #expect(!html.contains(#"value="register""#) && html.contains(#"value="forgot""#))
        }
    }

    @Test func `the page of an account says what support, a provider or another account is doing to it`() throws {
        let replaced = "give your account the address <bdi>m***@example.com</bdi>, on June 1, 2025."
        let taken = "moved it to another account on June 1, 2025."
        let blocked = "Google has disabled your account there, so it doesn’t open this one now."
        let outdated = "Google asks you to change your password there."
        for (name, said) in [
            ("account", [replaced]), ("account-bare", [taken]), ("account-one-way", [blocked, outdated]),
        ] {
            let html = try Self.html(of: name)
            for sentence in [replaced, taken, blocked, outdated] {
                #expect(html.contains(sentence) == said.contains(sentence), "\(sentence) on \(name)")
            }
        }
    }

    @Test func `what is said of an account that exists is so: its ways if it has any, a second one if there will be`()
        throws
    {
        for (name, hasWays, becomesWay) in [
            ("link-stated", true, true), ("link-mailbox", true, false), ("link-imported", false, false),
        ] {
            let html = try Self.html(of: name)
            #expect(html.contains("There is already an account with this address."), "\(name)")
            #expect(html.contains("It is opened with:") == hasWays, "\(name)")
            #expect(try Self.document(of: name).all("ul").isEmpty == !hasWays, "\(name)")
            #expect(html.contains("both ways open the same account") == becomesWay, "\(name)")
            #expect(html.contains("A new account, separate from the existing one."), "\(name)")
        }
    }

    @Test func `the button that signs out everywhere says that it unlinks, where something is linked`() throws {
        for (name, isLinked) in [("account", true), ("account-one-way", false)] {
            let html = try Self.html(of: name)
            #expect(html.contains("Sign out on all devices"))
            #expect(html.contains("Linked apps and services are unlinked too.") == isLinked, "\(name)")
        }
    }

    @Test func `who is asked which account of a provider stays reads by which they have come`() throws {
        for name in ["conflict-password", "conflict-code", "conflict-ticket", "conflict-provider"] {
            let html = try Self.html(of: name)
            #expect(
                html.contains("You signed in with <bdi>Google</bdi> as <bdi>mira.novak@example.com</bdi>."), "\(name)")
        }
    }

    @Test func `who takes the address of an account reads whether that can be opened afterwards`() throws {
        for (name, isClosed) in [("create-mailbox", false), ("create-closing", true)] {
            let html = try Self.html(of: name)
            #expect(html.contains("loses the address <bdi>mira.novak@example.com</bdi> to the new one."))
            #expect(html.contains("Nobody can open it any more") == isClosed, "\(name)")
            #expect(html.contains("Its other ways to sign in stay as they are.") == !isClosed, "\(name)")
        }
    }

    @Test(arguments: ["create", "create-mailbox", "bind", "bind-error", "bind-mailbox", "bind-code-right"])
    func `a button leads from create to bind and back with what was typed, and Enter presses another one`(
        _ name: String
    ) throws {
        let html = try Self.html(of: name)
        let (way, kept) =
            name.hasPrefix("create")
            ? ("bind", #"name="email" value="mira.novak@example.com""#)
            : ("create", #"name="displayName" value="Mira Novak""#)
        #expect(!html.contains("with=\(way)"))
        let forms = html.components(separatedBy: "<form ").dropFirst().map { $0.components(separatedBy: "</form>")[0] }
        let form = try #require(forms.first { $0.contains(#"name="to" value="\#(way)""#) }, "\(html)")
        #expect(form.contains(#"<input type="hidden" \#(kept)>"#), "\(form)")
        // The first button is that of the Enter key.
        let first = form.components(separatedBy: "<button")[1]
        #expect(!form.contains("type=\"text\"") || !first.contains("name=\"to\""), "\(form)")
    }

    @Test func `who has no choice left reads why, and signs in again`() throws {
        let html = try Self.html(of: "link-none")
        #expect(html.contains("There is already an account with this address. Use that account."))
        #expect(html.components(separatedBy: "<button").count == 2 && html.contains(">Sign in again</button>"))
        #expect(!html.contains("<a "))
    }

    @Test func `what was there is said to be removed only where it will be`() throws {
        for clears in [true, false] {
            let target = FormTarget(action: "/web/link/bind", csrf: "t")
            let page = BindPage(
                purpose: .account, source: .mailbox, holder: nil, confirm: target, clears: clears, password: nil,
                offersEmailCode: false, create: nil, cancel: target)
            let html = String(decoding: Pages(theme: .plain).html(page, language: .en), as: UTF8.self)
            #expect(html.contains("This is my account"))
            #expect(html.contains("the password and name that the account has are removed") == clears)
            #expect(html.contains(#"aria-describedby="mine""#) == clears)
        }
    }

    @Test func `what can't be undone is no button like the others`() throws {
        let document = try Self.document(of: "delete")
        #expect(document.all("button").map { $0.attributes["class"] } == ["danger"])
        #expect(!document.elements.contains { $0.attributes["class"]?.contains("primary") == true })
    }

    /// `COUNTERSIGN_WRITE_PAGES=DIR swift test --filter WebPagesTests.PageHTMLTests` leaves every page there, to look at
    /// and for tests in a browser: `DIR/THEME/LANGUAGE/NAME.html`, the assets under `DIR/web/assets`.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["COUNTERSIGN_WRITE_PAGES"] != nil))
    func `every page is written to a directory`() throws {
        let directory = URL(
            fileURLWithPath: ProcessInfo.processInfo.environment["COUNTERSIGN_WRITE_PAGES"] ?? "", isDirectory: true)
        func write(_ bytes: [UInt8], to path: String) throws {
            let file = directory.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file)
        }
        let (plain, operated) = (PageHTMLTests.pages[0], PageHTMLTests.pages[1])
        for (theme, pages, samples) in [
            ("plain", plain, PageSamples()), ("operated", operated, PageSamples()),
            ("long", Pages(theme: .wordMarked), .long),
        ] {
            for asset in pages.assets { try write(asset.bytes, to: String(asset.path.dropFirst())) }
            for (name, page) in samples.pages {
                for language in Language.allCases {
                    try write(pages.html(page, language: language), to: "\(theme)/\(language.rawValue)/\(name).html")
                }
            }
        }
    }
}
