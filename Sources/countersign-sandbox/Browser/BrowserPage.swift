import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import OpenSSL

/// A page of a provider's browser side: complete in itself, without images and, unless asked for, without script.
struct BrowserPage: Sendable {
    /// For whom the sandbox stands in.
    let party: String
    let title: String
    let content: HTML
    /// A line of script that runs at the end of the page.
    var script: String?

    func response(_ status: HTTPResponse.Status = .ok) -> Response {
        var policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
        if let script {
            policy += "; script-src 'sha256-\(Data(SHA256.hash(Array(script.utf8))).base64EncodedString())'"
        }
        var headers: HTTPFields = [.contentType: "text/html;charset=UTF-8", .cacheControl: "no-store"]
        headers[.contentSecurityPolicy] = policy
        headers[.xContentTypeOptions] = "nosniff"
        return Response(
            status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: document.text)))
    }

    private var document: HTML {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="robots" content="noindex">
        <title>\(title) · \(party) sandbox</title>
        <style>
        \(Self.style)
        </style>
        </head>
        <body class="\(party.lowercased())">
        <p class="sandbox"><strong>Sandbox.</strong> It stands in for \(party); there is no real account here.</p>
        <main>
        <h1>\(title)</h1>
        \(content)
        </main>
        \(scriptElement)
        </body>
        </html>

        """
    }

    /// The script is this program's own text and is not escaped.
    private var scriptElement: HTML? { script.map { HTML(stringLiteral: "<script>\($0)</script>") } }

    private static let style: HTML = """
        :root { color-scheme: light dark; --page: #f2f2f4; --card: #fff; --text: #1c1c1e; --quiet: #5c5c63;
          --line: #c9c9cf; --main: #1c1c1e; --on-main: #fff; --note: #fff3c4; --on-note: #4a3b00;
          --good: #176b2c; --bad: #b3261e; }
        .google { --main: #0b57d0; }
        @media (prefers-color-scheme: dark) {
          :root { --page: #131315; --card: #1f1f22; --text: #f2f2f4; --quiet: #acacb4; --line: #4a4a50;
            --main: #f2f2f4; --on-main: #131315; --note: #40350c; --on-note: #ffe9a3;
            --good: #7bd88f; --bad: #ff8a80; }
          .google { --main: #a8c7fa; --on-main: #062e6f; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
        .sandbox { margin: 0; padding: .5rem 1rem; background: var(--note); color: var(--on-note);
          text-align: center; font-size: .875rem; }
        main { max-width: 27rem; margin: 2rem auto; padding: 1.5rem 2rem 2rem; background: var(--card);
          border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere; }
        h1 { margin: 0 0 .5rem; font-size: 1.375rem; line-height: 1.25; }
        h2 { margin: 1.5rem 0 .5rem; font-size: 1.125rem; }
        .checks li { padding-inline-start: .75rem; border-inline-start: 4px solid var(--line); }
        .checks .passed { border-color: var(--good); }
        .checks .passed strong { color: var(--good); }
        .checks .failed { border-color: var(--bad); }
        .checks .failed strong { color: var(--bad); }
        ul { margin: 1rem 0; padding: 0; list-style: none; }
        li { margin: .5rem 0; }
        label { display: block; margin: .75rem 0; }
        fieldset { margin: 1rem 0; padding: 0 1rem .5rem; border: 1px solid var(--line); border-radius: 8px; }
        input:not([type]) { display: block; width: 100%; padding: .5rem .75rem; border: 1px solid var(--quiet);
          border-radius: 8px; background: var(--card); color: var(--text); font: inherit; }
        button { width: 100%; min-height: 44px; margin: .25rem 0; padding: .5rem 1rem; border: 1px solid var(--line);
          border-radius: 8px; background: var(--card); color: var(--text); font: inherit; cursor: pointer; }
        button.main { border-color: var(--main); background: var(--main); color: var(--on-main); font-weight: 600; }
        button.person { text-align: start; }
        button.person span { display: block; }
        .small, .person span + span { color: var(--quiet); font-size: .875rem; }
        :focus-visible { outline: 3px solid #6ea8ff; outline-offset: 2px; }
        """
}

extension BrowserPage {
    init(provider: ProviderName, title: String, content: HTML, script: String? = nil) {
        self.init(party: provider.rawValue, title: title, content: content, script: script)
    }

    /// The page on which a person is chosen. Each button submits; without a script there is nothing else to do it.
    static func chooser(
        _ provider: ProviderName, clientID: String, action: String, persons: [any ProviderPerson]
    ) -> BrowserPage {
        let items = persons.map { person -> HTML in
            let details = [person.displayName.map { _ in person.name }, person.email].compactMap { $0 }
            return """
                <li><button class="person" name="person" value="\(person.name)">\
                <span>\(person.displayName ?? person.name)</span>\
                <span>\(details.joined(separator: " · "))</span></button></li>
                """
        }
        let none: HTML = """
            <p>There is no person yet. <code>POST /control/\(provider.folder)/persons</code> makes one;
            then load this page again.</p>
            """
        return BrowserPage(
            provider: provider, title: "Choose a person",
            content: """
                <p>to continue to <code>\(clientID)</code></p>
                \(persons.isEmpty ? none : nil)
                <form method="post" action="\(action)">
                <ul>
                \(items)
                </ul>
                <button name="action" value="cancel">Cancel</button>
                </form>
                """)
    }

    /// The page on which the chosen person consents.
    static func consent(
        _ provider: ProviderName, clientID: String, action: String, person: any ProviderPerson, fields: HTML
    ) -> BrowserPage {
        BrowserPage(
            provider: provider, title: "Continue as \(person.displayName ?? person.name)?",
            content: """
                <p>\(person.email ?? person.name) signs in to <code>\(clientID)</code>.</p>
                <form method="post" action="\(action)">
                <input type="hidden" name="person" value="\(person.name)">
                \(fields)
                <button class="main" name="action" value="continue">Continue</button>
                <button name="action" value="cancel">Cancel</button>
                </form>
                <p><a href="\(action)">Choose another person</a></p>
                """)
    }
}

extension Request {
    /// The address of this page, to which its form posts.
    var pageAddress: String { uri.path + (uri.query.map { "?" + $0 } ?? "") }
}
