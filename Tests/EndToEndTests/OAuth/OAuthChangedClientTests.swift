import TestSupport
import Testing

/// A client that changes while a person is on the way to their decision. Nothing is granted to it, and no page leads round in
/// a circle: the person comes back to the client, as long as it may hear of an error.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthChangedClientTests: WorldSuite {
    enum Change: String, CaseIterable, Sendable {
        case disabled
        /// Its redirect URI is registered no more.
        case moved
        /// It may have fewer scopes than it has asked for.
        case narrowed
        /// It has to use PKCE, and has not.
        case guarded

        /// Whether the client may still have an error.
        var isHeard: Bool { self == .narrowed || self == .guarded }
    }

    private func client() async throws -> LinkingClient {
        try await world.linkingClient(["--redirect-uri", OAuthWorld.otherURI], redirectURI: OAuthWorld.otherURI)
    }

    /// Changes a client, and waits until a request of it is refused for that.
    private func make(_ change: Change, of client: LinkingClient) async throws {
        let body: String? =
            switch change {
            case .disabled: nil
            case .moved: #"{"redirectUris":["https://other.example.com/moved"]}"#
            case .narrowed: #"{"scopes":["profile"]}"#
            case .guarded: #"{"requirePkce":true}"#
            }
        let path = "/admin/v1/oauth-clients/\(client.id)"
        let key = try await world.adminKey("read,manage")
        let answer =
            if let body {
                try await service.administer("PATCH", path, bearer: key, body: body)
            } else {
                try await service.administer("POST", path + "/disable", bearer: key)
            }
        #expect(answer.status == (body == nil ? 204 : 200), "\(answer.text)")
        try await eventually("the change of a client") {
            let asked = try await world.browser().open(client.url(["scope": "email"]), following: false)
            return asked.status == 400 || asked.answer["Location"]?.contains("error=") == true
        }
    }

    /// The browser is at the client, if that may hear of the error.
    private func expectError(
        _ error: String, on page: Browser.Page, at client: LinkingClient, after change: Change,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        guard change.isHeard else { return expectEnd(page, of: client, after: change, location: location) }
        let answer = try AppAnswer(page, location)
        #expect(answer.address == client.redirectURI, sourceLocation: location)
        #expect(answer.parameters.map(\.name) == ["error", "state", "iss"], sourceLocation: location)
        #expect(answer["error"] == error && answer["state"] == "AB+cd/EF==", "\(answer.uri)", sourceLocation: location)
    }

    /// A page says that nothing can be done here, and its one button leads to the client, if that may hear of it.
    private func expectEnd(
        _ page: Browser.Page, of client: LinkingClient, after change: Change, title: String = "This sign-in is over",
        location: SourceLocation = #_sourceLocation
    ) {
        #expect(page.status == 400 && page.answer["Location"] == nil, "\(page.answer.text)", sourceLocation: location)
        #expect(page.html.title.hasPrefix(title), "\(page.answer.body)", sourceLocation: location)
        #expect(page.html.forms.isEmpty, "\(page.answer.body)", sourceLocation: location)
        #expect(!page.html.links.contains { $0.target.contains("flow=") }, sourceLocation: location)
        guard change.isHeard else {
            #expect(page.wayOn == nil, sourceLocation: location)
            return
        }
        let target = page.wayOn ?? ""
        #expect(target.hasPrefix(client.redirectURI + "?"), "\(page.answer.body)", sourceLocation: location)
        let values = FormEncoding.parameters(of: target).map(\.value)
        #expect(values == ["access_denied", "AB+cd/EF==", WebWorld.publicURL], sourceLocation: location)
    }

    @Test(arguments: Change.allCases)
    func `the pages ask for nothing more, and who refuses or cancels is at the client, or reads that it is over`(
        change: Change
    ) async throws {
        let client = try await client()
        let browser = try await world.signedInBrowser("refuser-\(change)")
        let consent = try await world.consentPage(client, browser)
        let another = world.browser()
        let chooser = try await another.open(client.url()).expecting(200)
        try await make(change, of: client)

        for url in [chooser.url, chooser.url + "&with=password"] {
            expectEnd(try await another.open(url), of: client, after: change, title: "This sign-in has expired")
        }
        expectEnd(try await browser.open(consent.url), of: client, after: change)
        let form = try consent.consentForm()
        for _ in 1...2 {
            let refused = try await browser.submit(form, on: consent, button: "deny")
            try expectError("access_denied", on: refused, at: client, after: change)
            let cancelled = try await another.submit("/web/cancel", on: chooser)
            try expectError("access_denied", on: cancelled, at: client, after: change)
        }
        #expect(try await world.grants(of: client) == 0)
    }

    @Test(arguments: Change.allCases)
    func `a consent to more than the client may still ask for grants nothing`(change: Change) async throws {
        let client = try await client()
        let browser = try await world.signedInBrowser("consenter-\(change)")
        let consent = try await world.consentPage(client, browser)
        try await make(change, of: client)

        let form = try consent.consentForm()
        for _ in 1...2 {
            let answer = try await browser.submit(form, on: consent, button: "allow", following: false)
            expectEnd(answer, of: client, after: change)
        }
        expectEnd(try await browser.open(consent.url), of: client, after: change)
        #expect(try await world.grants(of: client) == 0)
    }

    @Test(arguments: Change.allCases)
    func `a client hears of a person whom a provider does not prove as long as it may hear of anything`(
        change: Change
    ) async throws {
        let client = try await client()
        let browser = world.browser()
        let person = "unproven-\(change)"
        try await world.newPerson(person)
        let chooser = try await browser.open(client.url()).expecting(200)
        let shown = try await world.press(.google, on: chooser, browser)
        let page = try await world.consent(person, at: shown, browser, following: false)
        let callback = try page.location().settingParameter("iss", to: "https%3A%2F%2Fevil.example")
        try await make(change, of: client)

        let back = try await browser.open(callback)
        try expectError("server_error", on: back, at: client, after: change)
        #expect(try await world.grants(of: client) == 0)
    }
}
