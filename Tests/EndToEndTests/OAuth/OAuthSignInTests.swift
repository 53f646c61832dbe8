import Postgres
import TestSupport
import Testing

/// A person whom a client sends, who proves who they are and is not signed in: the flow goes on, or the client hears of its
/// end.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthSignInTests: WorldSuite {
    private static let sentence = "This account is disabled."

    private func disable(_ email: String) async throws {
        try await scratch.execute("UPDATE accounts SET status = 'disabled' WHERE email = \(email)")
    }

    /// The way with Google, from the client's request to where the browser ends.
    private func signIn(_ person: String, for client: LinkingClient, _ browser: Browser) async throws -> Browser.Page {
        try await world.signIn(person, with: .google, on: try await browser.open(client.url()), browser)
    }

    private func expectRefusal(
        _ page: Browser.Page, of client: LinkingClient, as error: String, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let answer = try AppAnswer(page, location)
        #expect(answer.address == client.redirectURI, sourceLocation: location)
        #expect(answer.parameters.map(\.name) == ["error", "state"], sourceLocation: location)
        #expect(answer["error"] == error, sourceLocation: location)
        #expect(answer["state"] == "AB+cd/EF==", sourceLocation: location)
        #expect(try await world.grants(of: client) == 0, sourceLocation: location)
    }

    @Test func `who has a disabled account reads so in the chooser, and takes another one there`() async throws {
        let client = try await world.linkingClient()
        _ = try await world.signedInBrowser("locked-out")
        _ = try await world.signedInBrowser("let-in")
        try await disable("locked-out@gmail.com")
        let browser = world.browser()
        let chooser = try await signIn("locked-out", for: client, browser).expecting(200)
        #expect(chooser.html.text.contains(Self.sentence), "\(chooser.answer.text)")
        #expect(browser.session == nil)
        let consent = try await world.signIn("let-in", with: .google, on: chooser, browser)
        #expect(consent.answer.body.contains("let-in@gmail.com"), "\(consent.answer.text)")
        #expect(try await world.decision("allow", on: consent, browser)["code"] != nil)
    }

    @Test func `who comes back from the provider twice is led to the consent, in the one session`() async throws {
        let client = try await world.linkingClient()
        _ = try await world.signedInBrowser("back-twice")
        let browser = world.browser()
        let shown = try await world.press(.google, on: try await browser.open(client.url()), browser)
        let url = try await world.consent("back-twice", at: shown, browser, following: false).location()
        let consent = try await browser.clickTwice { try await browser.open(url, following: $0) }
        _ = try consent.consentForm()
        let session = try #require(browser.session)
        _ = try await browser.open(url).consentForm()
        #expect(browser.session?.value == session.value)
        #expect(try await world.decision("allow", on: consent, browser)["code"] != nil)
    }

    /// A new account's owner asks for a code at the client's sign-in.
    ///
    /// - Returns: the page that waits for the code, and the code.
    private func askForCode(
        _ email: String, at client: LinkingClient, _ browser: Browser
    ) async throws -> (page: Browser.Page, code: String) {
        let device = try SignedInDevice(try await world.register(email), status: 201)
        try await world.verify(email, bearer: device.bearer)
        let (page, form) = try await world.screen(
            "/web/email-code", from: try await browser.open(client.url()), browser)
        let sent = try await browser.submit(form, on: page, typed: ["email": email])
        return (sent, try await world.code(2, mailedTo: email))
    }

    @Test func `a mailed code of a disabled account leads back there too, and the client hears of a cancellation`()
        async throws
    {
        let client = try await world.linkingClient()
        let email = "locked-mailbox@own.example"
        let browser = world.browser()
        let (sent, code) = try await askForCode(email, at: client, browser)
        try await disable(email)
        let chooser = try await browser.submit("/web/email-code", on: sent, typed: ["code": code]).expecting(200)
        #expect(chooser.html.text.contains(Self.sentence), "\(chooser.answer.text)")
        let cancelled = try await browser.submit("/web/cancel", on: chooser)
        try await expectRefusal(cancelled, of: client, as: "access_denied")
    }

    @Test func `a token that counts no more ends the flow at the client`() async throws {
        let client = try await world.linkingClient()
        _ = try await world.signedInBrowser("outdated")
        try await scratch.execute(
            """
            UPDATE identities SET not_before = now() + interval '1 hour'
            WHERE account_id = (SELECT account_id FROM accounts WHERE email = 'outdated@gmail.com')
            """)
        let back = try await signIn("outdated", for: client, world.browser())
        try await expectRefusal(back, of: client, as: "server_error")
    }

    @Test(arguments: [
        (OAuthWorld.redirectURI, ["--google-project", OAuthWorld.project], ["error", "state"]),
        (OAuthWorld.otherURI, ["--redirect-uri", OAuthWorld.otherURI], ["error", "state", "iss"]),
    ])
    func `a sign-in that has expired leads back to the client, while its redirect URI is registered`(
        redirectURI: String, options: [String], parameters: [String]
    ) async throws {
        let client = try await world.linkingClient(options, redirectURI: redirectURI)
        let browser = world.browser()
        let chooser = try await browser.open(client.url())
        let flow = try #require(FormEncoding.parameters(of: chooser.url).first { $0.name == "flow" }).value
        try await scratch.execute(
            "UPDATE web_flows SET expires_at = now() - interval '1 second' WHERE flow_id = \(flow)::uuid")
        let late = try await browser.submit("/web/start/google", on: chooser)
        for page in [try await browser.open(chooser.url), late] {
            #expect(page.status == 400 && page.html.title.hasPrefix("This sign-in has expired"), "\(page.answer.body)")
            let target = try #require(page.wayOn, "\(page.answer.body)")
            #expect(page.html.links.contains { $0.target == target && $0.label == "Go back to Google" })
            #expect(target.hasPrefix(redirectURI + "?"))
            let answer = FormEncoding.parameters(of: target)
            #expect(answer.map(\.name) == parameters)
            let values = ["access_denied", "AB+cd/EF==", WebWorld.publicURL].prefix(parameters.count)
            #expect(answer.map(\.value) == Array(values))
        }
        let other = world.browser()
        _ = try await other.open(client.url())
        let foreign = try await other.open(chooser.url)
        #expect(foreign.status == 400 && foreign.wayOn == nil, "\(foreign.answer.body)")

        let changed = try await service.administer(
            "PATCH", "/admin/v1/oauth-clients/\(client.id)", bearer: try await world.adminKey("read,manage"),
            body: #"{"redirectUris":["https://other.example.com/moved"]}"#)
        #expect(changed.status == 200, "\(changed.text)")
        try await eventually("the end of the way back") {
            let page = try await browser.open(chooser.url)
            return page.wayOn == nil
        }
    }

    @Test func `a form that is sent once more leads to the page of the flow, not out of it`() async throws {
        let client = try await world.linkingClient()
        let browser = world.browser()
        let chooser = try await browser.open(client.url())
        let flow = try #require(FormEncoding.parameters(of: chooser.url).first { $0.name == "flow" }).value
        try await world.newPerson("sent-twice")
        let shown = try await world.press(.google, on: chooser, browser)
        let question = try await world.consent("sent-twice", at: shown, browser)
        #expect(question.status == 200 && question.html.text.contains("Create"), "\(question.answer.body)")
        let again = try await browser.submit(
            "/web/password", on: chooser, typed: ["email": "kim@example.com", "password": World.password])
        #expect(again.status == 400 && again.html.title.hasPrefix("This page has expired"), "\(again.answer.body)")
        let target = try #require(again.wayOn, "\(again.answer.body)")
        #expect(target == "/web/sign-in?flow=\(flow)")
        #expect(try await browser.open(WebWorld.publicURL + target).html.text.contains("Create"))
    }

    @Test func `a mailed code that is sent twice leads to the consent, in the one session`() async throws {
        let client = try await world.linkingClient()
        let email = "twice-mailed@own.example"
        let browser = world.browser()
        let (sent, code) = try await askForCode(email, at: client, browser)
        let consent = try await browser.clickTwice {
            try await browser.submit("/web/email-code", on: sent, typed: ["code": code], following: $0)
        }
        consent.expecting(200)
        #expect(consent.answer.body.contains(email), "\(consent.answer.text)")
        #expect(try await world.decision("allow", on: consent, browser)["code"] != nil)
        // Another code is none still.
        let other = world.browser()
        let late = try await other.open(client.url())
        let (asked, again) = try await world.screen("/web/email-code", from: late, other)
        let typed = try await other.submit(again, on: asked, typed: ["email": email])
        try await other.submit("/web/email-code", on: typed, typed: ["code": code]).expecting(401)
    }

    @Test(arguments: [("55P03", "temporarily_unavailable"), ("P0001", "server_error")])
    func `a session that can't be stored ends the flow at the client, which may ask again`(
        state: String, error: String
    ) async throws {
        let client = try await world.linkingClient()
        let person = "unentered-\(state.lowercased())"
        _ = try await world.signedInBrowser(person)
        let id = try #require(
            try await scratch.texts(
                "SELECT account_id::text FROM accounts WHERE email = \(person + "@gmail.com")"
            ).first)
        let name = "refuse_session_\(state.lowercased())"
        try await scratch.execute(
            """
            CREATE FUNCTION \(unsafeSQL: name)() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN
                IF EXISTS (
                    SELECT FROM sessions
                    WHERE session_id = NEW.session_id AND account_id = '\(unsafeSQL: id)'
                ) THEN
                    RAISE EXCEPTION 'refused' USING ERRCODE = '\(unsafeSQL: state)';
                END IF;
                RETURN NEW;
            END $$
            """,
            """
            CREATE TRIGGER \(unsafeSQL: name) BEFORE INSERT ON web_sessions
            FOR EACH ROW EXECUTE FUNCTION \(unsafeSQL: name)()
            """)
        let browser = world.browser()
        let back = try await signIn(person, for: client, browser)
        try await expectRefusal(back, of: client, as: error)

        try await scratch.execute("DROP TRIGGER \(unsafeSQL: name) ON web_sessions")
        let consent = try await signIn(person, for: client, browser)
        #expect(try await world.decision("allow", on: consent, browser)["code"] != nil)
    }
}
