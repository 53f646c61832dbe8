import Postgres
import TestSupport
import Testing

/// The sandbox plays Google against the service: all that it checks passes. It links one person at a time, so that each test
/// has a world of its own.
@Suite(.limitedConcurrency, .fixture { try await OAuthWorld.run([:], $0) }, .timeLimit(.minutes(30)))
struct SandboxLinkingTests: WorldSuite {
    private static let project = "lamp-linking"

    /// A client whose redirect URI is the sandbox's, and the sandbox as this client.
    private func linking(_ options: [String] = [], pkce: Bool = false) async throws -> Sandbox {
        let uri = world.sandbox.linkingRedirectURI(project: Self.project)
        let client = try await world.linkingClient(
            ["--redirect-uri", uri, "--app-flip", "--assertion-audience", OAuthWorld.audience] + options,
            redirectURI: uri)
        try await world.sandbox.configureLinking(
            server: service.url, clientID: client.id, clientSecret: client.secret, project: Self.project,
            scopes: ["profile", "email"], audience: OAuthWorld.audience, basicAuth: pkce, pkce: pkce)
        return world.sandbox
    }

    /// The person decides in the browser, which then is at the sandbox's page.
    private func decide(_ word: String, _ browser: Browser, _ sandbox: Sandbox) async throws {
        let url = try await sandbox.beginBrowserLink().replacing(service.url, with: WebWorld.publicURL)
        let page = try await browser.open(url)
        let form = try page.consentForm()
        let shown = try await browser.submit(form, on: page, button: word)
        #expect(shown.blocked == nil)
        #expect(shown.url == sandbox.url + "/google/link", "\(shown.answer.text)")
    }

    private func expectAll(_ report: Sandbox.LinkingReport, _ way: String) {
        #expect(report.all("failed", way: way) == [])
        #expect(report.all("open", way: way) == [])
    }

    @Test func `what Google sees without a person is as it wants it`() async throws {
        for options in [[], ["--require-pkce"]] {
            let report = try await linking(options, pkce: !options.isEmpty).checkLinkingEndpoints()
            // The page is at the public address, where nothing listens here. Scripts/demo has one where something does.
            #expect(report.all("failed", way: "endpoints").map(\.name) == ["authorization-page"])
            #expect(report.all("open", way: "endpoints") == [])
        }
    }

    @Test(arguments: [false, true])
    func `a person links in the browser, and unlinks at Google`(pkce: Bool) async throws {
        let sandbox = try await linking(pkce ? ["--require-pkce"] : [], pkce: pkce)
        let browser = try await world.signedInBrowser(pkce ? "guarded" : "plain")
        try await decide("deny", browser, sandbox)
        #expect(try await sandbox.linkingReport().isLinked == false)
        try await decide("allow", browser, sandbox)
        #expect(try await sandbox.linkingReport().subject != nil)
        expectAll(try await sandbox.unlink(), "browser")
        #expect(try await world.count("SELECT count(*) FROM oauth_grants") == 0)
    }

    @Test func `a refresh token that rotates is as good again as Google wants it`() async throws {
        let sandbox = try await linking(["--rotate-refresh"])
        try await decide("allow", try await world.signedInBrowser("rotated"), sandbox)
        let report = try await sandbox.linkingReport()
        #expect(report.all("failed", way: "browser") == [])
        #expect(report.all("passed", way: "browser").map(\.name).contains("kept-refresh-token"))
    }

    @Test func `an app that asks the service for its code links by App Flip`() async throws {
        let sandbox = try await linking()
        let device = try await world.newAccount(ofNew: "flipper", email: "flipper@gmail.com", with: .google)
        let refused = FormEncoding.parameters(of: try await sandbox.beginFlip())
        let state = try #require(refused.first { $0.name == "state" }?.value)
        _ = try await sandbox.answerFlip(
            "\(OAuthWorld.flipURI)?error=access_denied&state=\(FormEncoding.encode(state))")
        let asked = FormEncoding.parameters(of: try await sandbox.beginFlip())
        func value(_ name: String) throws -> String { try #require(asked.first { $0.name == name }?.value) }
        let answer = try await service.post(
            "/oauth/flip",
            [
                "client_id": .string(try value("client_id")), "redirect_uri": .string(try value("redirect_uri")),
                "scope": "profile email", "platform": "ios", "consent": true,
            ], bearer: device.bearer)
        let back = try value("state")
        let report = try await sandbox.answerFlip(
            "\(OAuthWorld.flipURI)?code=\(try answer.text("code"))&state=\(FormEncoding.encode(back))")
        #expect(report.subject == device.account.id)
        expectAll(try await sandbox.unlink(), "flip")
    }

    @Test func `an account is found, made and linked by assertions`() async throws {
        let sandbox = try await linking()
        try await world.newPerson("fresh", email: "fresh@gmail.com")
        #expect(try await sandbox.linkStreamlined("fresh").isLinked == false)
        #expect(try await sandbox.linkStreamlined("fresh", create: true).isLinked)
        #expect(try await sandbox.linkStreamlined("fresh").isLinked)
        expectAll(try await sandbox.unlink(), "streamlined")
        #expect(try await world.countAccounts(with: "fresh@gmail.com") == 1)
    }
}
