import Foundation
import Postgres
import TestSupport
import Testing

/// An administrator's browser at the console of a world.
struct ConsoleVisit: Sendable {
    let browser: Browser
    let origin: String
    let world: World

    init(_ world: World) {
        self.world = world
        origin = world.service.privateURL
        browser = Browser(ports: [origin: world.service.privatePort])
    }

    /// Signs in with a new key.
    static func signedIn(
        to world: World, _ scopes: String = "read,revoke,manage", name: String = "kim@support"
    ) async throws -> ConsoleVisit {
        let visit = ConsoleVisit(world)
        let page = try await visit.signIn(with: try await world.adminKey(scopes, name: name)).expecting(200)
        #expect(page.html.title.hasPrefix("Overview"))
        return visit
    }

    /// Lets what the column says of these sessions be so many minutes ago.
    func age(_ sessions: SQL, _ column: String, minutes: Int32) async throws {
        try await world.scratch.execute(
            """
            UPDATE console_sessions SET \(unsafeSQL: column) = now() - make_interval(mins => \(minutes))
            WHERE \(sessions)
            """)
    }

    func signIn(with key: String, at path: String = "/console/") async throws -> Browser.Page {
        let page = try await open(path)
        return try await browser.submit("/console/sign-in", on: page, typed: ["key": key])
    }

    func open(_ path: String, headers: [(String, String)] = []) async throws -> Browser.Page {
        try await browser.open(origin + path, headers: headers)
    }

    /// The page that asks before an act: a button on a page leads there.
    func ask(_ label: String, on page: Browser.Page) async throws -> Browser.Page {
        let form = try #require(
            page.html.forms.first { $0.method == "GET" && $0.buttons.first?.label == label },
            "no button \(label) in \(page.html.text)")
        // A form without fields leads to its action.
        return try await browser.click(form.action, on: page)
    }

    /// Carries out an act by its two pages.
    func act(_ label: String, on page: Browser.Page, typed: [String: String] = [:]) async throws -> Browser.Page {
        let question = try await ask(label, on: page)
        let form = try #require(question.html.forms.first { $0.method == "POST" && $0.buttons.first?.label == label })
        return try await browser.submit(form, on: question, typed: typed)
    }

    func account(_ id: String) async throws -> Browser.Page { try await open("/console/accounts/\(id)") }
}

extension Browser.Page {
    /// Whether it asks for a key.
    var isSignIn: Bool { html.forms.contains { $0.path == "/console/sign-in" } }

    /// What is said by `role=alert` or `role=status`.
    var notice: String? {
        html.elements("p").first { ["alert", "status"].contains($0.attributes["role"]) }.map { element in
            HTML("<body>\(element.content)</body>").text
        }
    }

    var buttons: [String] { html.forms.flatMap(\.buttons).map(\.label) }
}

extension World {
    /// The number of rows of the trail that match.
    func recorded(_ condition: SQL) async throws -> Int64 {
        try await count("SELECT count(*) FROM audit_events WHERE \(condition)")
    }

    /// Rows of the trail of this type by the administrator, with this reason if there is one.
    func audited(_ type: String, by name: String = "kim@support", reason: String? = nil) async throws -> Int64 {
        try await recorded(
            """
            type = \(type) AND actor_name = \(name) AND actor = 'administrator'
                AND (\(reason)::text IS NULL OR reason = \(reason))
            """)
    }
}
