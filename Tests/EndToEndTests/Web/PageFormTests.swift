import OpenSSL
import Postgres
import Primitives
import TestSupport
import Testing

/// The forms of all our pages, by openapi.yaml: who may have made the one that is sent.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct PageFormTests: WorldSuite {
    /// A page that has a form, and what the tokens of its forms are derived from.
    private struct Visit {
        let browser: Browser
        let page: Browser.Page
        /// The id of the flow; `nil` on the pages of an account.
        let flow: String?

        /// Of the account's forms, those that are good for the browser, whichever session it has.
        private static let ofBrowser = ["/web/sign-out", "/web/account/sign-out-everywhere"]

        /// The field `csrf` for this path.
        ///
        /// - Parameter other: the browser that it is of; this one's by default.
        func token(_ path: String, of other: Browser? = nil) throws -> String {
            let isOfSession = flow == nil && !Self.ofBrowser.contains(path)
            let name = isOfSession ? "__Host-csn_web" : "__Host-csn_browser"
            let cookie = try #require((other ?? browser).cookie(name, of: WebWorld.publicURL))
            let code = try HMACSHA256.authenticationCode(
                for: Array("web|\(flow ?? "")|\(path)".utf8), key: Array(cookie.value.utf8))
            return Base64URL.encode(code.bytes)
        }

        func send(_ fields: [(name: String, value: String)], to path: String, site: String? = nil) async throws -> Int {
            try await browser.send(
                fields, to: path + (flow.map { "?flow=\($0)" } ?? ""), on: page, following: false,
                headers: site.map { [("Sec-Fetch-Site", $0)] } ?? []
            ).status
        }
    }

    /// - Parameter name: of a person, and of no other one.
    private func visit(_ operation: APIDocument.Operation, _ name: String) async throws -> Visit {
        guard operation.parameters.contains("Flow") else {
            let (browser, page, _) = try await AccountHolder.signedIn(name)
            return Visit(browser: browser, page: page, flow: nil)
        }
        let browser = world.browser()
        let page = try await world.chooser(try AppAttempt(), browser)
        let flow = try #require(FormEncoding.parameters(of: page.url).first { $0.name == "flow" }).value
        return Visit(browser: browser, page: page, flow: flow)
    }

    private func rows() async throws -> [String] {
        try await world.rows() + world.scratch.texts("SELECT row_to_json(f)::text FROM web_flows f").sorted()
    }

    @Test func `no page takes a form of another site, page or browser, and each takes its own`() async throws {
        // What a provider has a browser post is known by its state.
        let foreign = ["/web/callback/apple", "/web/relay/apple/{app}"]
        let operations = try APIDocument.read().operations.filter { operation in
            operation.method == "POST" && (operation.isPage || operation.statuses.contains(303))
                && !foreign.contains(operation.template)
        }
        #expect(operations.count >= 23)
        let other = try await AccountHolder.signedIn("forms-other").browser
        for (number, operation) in operations.enumerated() {
            let path = operation.path("google")
            let visit = try await visit(operation, "forms-\(number)")
            let own = [(name: "csrf", value: try visit.token(path))]
            let others = visit.page.html.forms.filter { $0.path != path }.map { $0.input("csrf")?.value }
            #expect(others.contains { $0 != nil }, "\(operation)")
            let before = try await rows()
            for token in [nil, "", try visit.token(path, of: other)] + others {
                let fields = token.map { [(name: "csrf", value: $0)] } ?? []
                #expect(try await visit.send(fields, to: path) == 403, "\(operation): \(token ?? "none")")
                let further = fields + [(name: "email", value: "a@example.com")]
                #expect(try await visit.send(further, to: path) == 403, "\(operation): \(token ?? "none")")
            }
            for site in ["cross-site", "same-site", "none"] {
                #expect(try await visit.send(own, to: path, site: site) == 403, "\(operation): \(site)")
            }
            #expect(try await rows() == before, "\(operation)")
            // The refusals above are due to the token: the same request with that of the form goes on.
            #expect(try await visit.send(own, to: path) != 403, "\(operation)")
        }
    }
}
