import Foundation
import HTTPTypes
import Hummingbird

/// Google's side of account linking as a page, and the redirect URI to which the service sends browsers.
struct LinkingPage: Sendable {
    let linking: GoogleLinking
    let runner: LinkingRunner

    /// The buttons of the page.
    private enum Action: String {
        case checks
        case browser
        case flip
        case answer
        case streamlined
        case unlink
    }

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("link") { _, _ in page().response() }
        group.post("link") { request, _ in
            let form: EndpointForm
            do {
                form = try await EndpointForm(request)
            } catch let fault as EndpointForm.Fault {
                throw BrowserRefusal(.google, fault)
            }
            do {
                return Self.redirect(to: try await act(form))
            } catch let refusal as ControlRefusal {
                throw BrowserRefusal(provider: .google, code: .invalidRequest, reason: refusal.message)
            }
        }
        group.get("r/{project}") { request, context in
            let project = try context.parameters.require("project")
            guard let settings = linking.current.settings, settings.project == project else {
                return Self.refusal("No project \(project) links accounts.")
            }
            if let fault = try await runner.takeBrowser(request.uri.query ?? "") { return Self.refusal(fault) }
            return Self.redirect(to: request.origin + GoogleLinking.pagePath)
        }
    }

    /// - Returns: where the browser goes then.
    private func act(_ form: EndpointForm) async throws -> String {
        switch form["action"].flatMap(Action.init) {
        case .checks: try await runner.checkEndpoints()
        case .browser: return try runner.beginBrowser()
        case .flip: _ = try runner.beginFlip()
        case .answer: try await runner.takeFlip(form["url"] ?? "")
        case .streamlined:
            try await runner.runStreamlined(form["person"] ?? "", isNew: form["create"] != nil)
        case .unlink: try await runner.unlink()
        case nil: throw ControlRefusal.invalid("action must be one of the page's buttons.")
        }
        return GoogleLinking.pagePath
    }

    private static func redirect(to location: String) -> Response {
        Response(status: .seeOther, headers: [.location: location, .cacheControl: "no-store"])
    }

    /// As Google's redirect endpoint answers what it can't use.
    private static func refusal(_ message: String) -> Response {
        .json(["sendPostBody": false, "errorMessage": message], status: .badRequest)
    }

    // MARK: The page

    private func page() -> BrowserPage {
        let current = linking.current
        guard let settings = current.settings else {
            return BrowserPage(
                provider: .google, title: "Account linking",
                content: """
                    <p>There is no service to link with yet. <code>POST /control/google/linking</code> names one; then load
                    this page again.</p>
                    """)
        }
        let unlink: HTML = #"<button name="action" value="unlink">Unlink</button>"#
        return BrowserPage(
            provider: .google, title: "Link an account",
            content: """
                <p>of <code>\(settings.server)</code> to project <code>\(settings.project)</code>, as client
                <code>\(settings.clientID)</code></p>
                <form method="post" action="\(GoogleLinking.pagePath)">
                <button name="action" value="checks">Check the endpoints</button>
                <button class="main" name="action" value="browser">Link in this browser</button>
                <button name="action" value="flip">Link by App Flip</button>
                \(current.link == nil ? nil : unlink)
                </form>
                \(flip(current))
                \(settings.audience == nil ? nil : streamlined())
                \(LinkingWay.allCases.map { section($0, current.report) })
                <p class="small">The same as JSON: <code>/control/google/linking/report</code></p>
                """)
    }

    private func flip(_ current: GoogleLinking.State) -> HTML? {
        guard let attempt = current.attempts.last(where: { $0.way == .flip }) else { return nil }
        return """
            <form method="post" action="\(GoogleLinking.pagePath)">
            <p>Open this link on a device with your app: <a href="\(attempt.url)">\(attempt.url)</a></p>
            <label>The address that the app opens then <input name="url" autocomplete="off"></label>
            <button name="action" value="answer">Take the answer</button>
            </form>
            """
    }

    private func streamlined() -> HTML {
        let persons = runner.google.accounts.persons.map { person -> HTML in
            """
            <li><button class="person" name="person" value="\(person.name)"><span>\(person.displayName ?? person.name)</span>\
            <span>\(person.email ?? person.name)</span></button></li>
            """
        }
        return """
            <form method="post" action="\(GoogleLinking.pagePath)">
            <input type="hidden" name="action" value="streamlined">
            <p>Link by an assertion about</p>
            <ul>
            \(persons)
            </ul>
            <label><input type="checkbox" name="create"> Make an account where there is none</label>
            </form>
            """
    }

    private func section(_ way: LinkingWay, _ report: LinkingReport) -> HTML {
        let items = report.entries(of: way).map { entry -> HTML in
            let detail = entry.detail.map { detail -> HTML in "<br><span class=\"small\">\(detail)</span>" }
            return """
                <li class="\(entry.result.rawValue)"><strong>\(entry.result.rawValue.capitalized).</strong> \(entry.check.title)\(detail)</li>
                """
        }
        return """
            <section>
            <h2>\(way.title)</h2>
            <ul class="checks">
            \(items)
            </ul>
            </section>
            """
    }
}
