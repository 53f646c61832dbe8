import JSON
import Postgres
import TestSupport
import Testing

/// What ends a link ends its codes and tokens in the same moment, and nothing revives them.
@Suite(.limitedConcurrency, .oauthWorld(["linking.strayAccount": "merge"]), .timeLimit(.minutes(30)))
struct OAuthGrantEndTests: WorldSuite {
    /// Somebody who has linked a client, and has an app that is signed in.
    private struct Linked {
        let client: LinkingClient
        let tokens: LinkedTokens
        /// Not redeemed.
        let code: String
        let device: SignedInDevice
    }

    private func link(_ person: String) async throws -> Linked {
        let (client, browser, tokens) = try await world.linked(person)
        return Linked(
            client: client, tokens: tokens, code: try await world.oauthCode(client, browser),
            device: try SignedInDevice(try await world.signIn(person, with: .google)))
    }

    private func expectEnd(of linked: Linked, _ location: SourceLocation = #_sourceLocation) async throws {
        #expect(try await !world.isAlive(linked.tokens, linked.client), sourceLocation: location)
        let late = try await world.redeem(linked.code, linked.client)
        #expect(late.text == #"{"error":"invalid_grant"}"#, sourceLocation: location)
        #expect(
            try await world.introspected(linked.tokens.access, linked.client).text == #"{"active":false}"#,
            sourceLocation: location)
    }

    private func administer(_ method: String, _ path: String, _ body: String? = nil) async throws -> Int {
        let key = try await world.adminKey("read,revoke,manage")
        return try await service.administer(method, path, bearer: key, body: body).status
    }

    @Test func `a person sees what is linked, and ends it`() async throws {
        let linked = try await link("owner")
        let other = try await link("stays")
        let list = try await service.get("/v1/account/linked-clients", bearer: linked.device.bearer)
        let item = try #require(list.items.first)
        #expect(item["clientId"]?.string == linked.client.id)
        #expect(item["name"]?.string == "Google")
        #expect(item["scopes"]?.elements?.count == 3)
        #expect(item["linkedAt"]?.string != nil)
        let path = "/v1/account/linked-clients/\(linked.client.id)"
        #expect(try await service.delete(path, bearer: linked.device.bearer).status == 204)
        try await expectEnd(of: linked)
        #expect(try await service.delete(path, bearer: linked.device.bearer).status == 404)
        #expect(try await world.isAlive(other.tokens, other.client))
        // The app stays signed in; the browser, where another click would link it again, does not.
        #expect(try await service.get("/v1/account", bearer: linked.device.bearer).status == 200)
    }

    @Test func `a person ends a link, and the sessions of other browsers, on the page of the account`() async throws {
        let (client, browser, tokens) = try await world.linked("pager")
        let other = world.browser()
        _ = try await world.signIn("pager", with: .google, in: other)
        let page = try await browser.openAccount()
        let form = try #require(
            page.html.forms.first { $0.buttons.contains { $0.name == "client" } }, "\(page.answer.body)")
        let asked = try await browser.submit(form, on: page, button: client.id)
        #expect(asked.html.text.contains("and all other browsers will be signed out."), "\(asked.answer.text)")
        #expect(try await world.isAlive(tokens, client))
        #expect(try await other.openAccount().hops.count == 1)
        #expect(try await browser.submit("/web/account/unlink", on: asked).expecting(200).html.text.contains("Google"))
        #expect(try await !world.isAlive(tokens, client))
        #expect(try await other.openAccount().isChooser)
    }

    @Test func `after a sign-in to another account the question says so, and names that one`() async throws {
        let (client, browser, tokens) = try await world.linked("first-asked")
        let other = try await world.linked(client, try await world.signedInBrowser("since-asked"))
        let page = try await browser.openAccount()
        let form = try #require(page.html.forms.first { $0.buttons.contains { $0.name == "client" } })
        let question = try await browser.submit(form, on: page, button: client.id)
        #expect(!question.html.text.contains("another account than before"), "\(question.answer.text)")
        try await world.age(sessionsOf: "first-asked@gmail.com")
        let chooser = try await browser.submit(form, on: page, button: client.id)
        let asked = try await world.signIn("since-asked", with: .google, on: chooser, browser).expecting(200)
        #expect(asked.html.text.contains("another account than before"), "\(asked.answer.text)")
        #expect(asked.html.text.contains("s***@gmail.com") && !asked.html.text.contains("since-asked@gmail.com"))
        // The answer to the question about the first one is worth nothing here.
        try await browser.submit("/web/account/unlink", on: question).expecting(403)
        #expect(try await world.isAlive(tokens, client))
        #expect(try await world.isAlive(other, client))
    }

    @Test func `signing out everywhere on the page of the account ends the links, as the page says`() async throws {
        let (client, browser, tokens) = try await world.linked("quitting")
        let page = try await browser.openAccount()
        #expect(page.html.text.contains("Linked apps and services are unlinked too."))
        try await browser.submit("/web/account/sign-out-everywhere", on: page).expecting(200)
        #expect(try await !world.isAlive(tokens, client))
    }

    @Test func `an administrator sees what is linked, and ends it`() async throws {
        let linked = try await link("helped")
        let path = "/admin/v1/accounts/\(linked.device.account.id)/linked-clients"
        #expect(try await administer("GET", path) == 200)
        #expect(try await administer("DELETE", path + "/" + linked.client.id + "?reason=asked") == 204)
        try await expectEnd(of: linked)
        #expect(try await administer("DELETE", path + "/" + linked.client.id) == 404)
        #expect(
            try await world.recorded(
                """
                type = 'client_unlinked' AND actor_name = 'kim@support'
                    AND account_id::text = \(linked.device.account.id)
                """) == 1)
    }

    @Test func `a link of which nothing is good is shown nowhere, though its rows wait for the sweep`() async throws {
        let client = try await world.linkingClient(withPKCE: true)
        let browser = try await world.signedInBrowser("hesitant")
        let device = try SignedInDevice(try await world.signIn("hesitant", with: .google))
        let key = try await world.adminKey("read")
        /// For the app, on the page of the account, and for the support.
        func shown() async throws -> [Bool] {
            [
                try await service.get("/v1/account/linked-clients", bearer: device.bearer).text,
                try await browser.openAccount().answer.body,
                try await service.administer(
                    "GET", "/admin/v1/accounts/\(device.account.id)/linked-clients", bearer: key
                ).body,
            ].map { $0.contains(client.id) }
        }
        func exported() async throws -> [Int?] {
            let answer = try await service.get("/v1/account/export", bearer: device.bearer)
            return ["linkedClients", "linkedClientConsents"].map { answer.json?[$0]?.elements?.count }
        }
        // Spent on a wrong verifier.
        let code = try await world.oauthCode(client, browser)
        #expect(try await shown() == [true, true, true])
        #expect(try await exported() == [1, 1])
        try await world.redeem(code, client, ["code_verifier": String(repeating: "v", count: 43)]).expecting(400)
        #expect(try await shown() == [false, false, false])
        // Never redeemed.
        _ = try await world.oauthCode(client, browser)
        #expect(try await shown() == [true, true, true])
        try await world.expireCodesAndTokens(of: client)
        #expect(try await shown() == [false, false, false])
        #expect(try await exported() == [0, 0])
        #expect(try await world.grants(of: client) == 1)
        // Redeemed: its refresh token is there.
        _ = try await world.linked(client, browser)
        try await world.expireCodesAndTokens(of: client)
        #expect(try await shown() == [true, true, true])
    }

    @Test func `such a link is not there to be unlinked`() async throws {
        let (client, browser) = try await world.clientAndBrowser("too-late")
        let device = try SignedInDevice(try await world.signIn("too-late", with: .google))
        let own = "/v1/account/linked-clients/\(client.id)"
        let path = "/admin/v1/accounts/\(device.account.id)/linked-clients/\(client.id)"
        _ = try await world.oauthCode(client, browser)
        try await world.expireCodesAndTokens(of: client)
        #expect(try await service.delete(own, bearer: device.bearer).status == 404)
        #expect(try await administer("DELETE", path) == 404)
        #expect(try await world.grants(of: client) == 1)
        #expect(try await unlinkings(of: client) == [])
        // A code that may still be redeemed is a link.
        _ = try await world.oauthCode(client, browser)
        #expect(try await service.delete(own, bearer: device.bearer).status == 204)
        #expect(try await world.grants(of: client) == 0)
        #expect(try await unlinkings(of: client) == [client.id])
    }

    /// The reasons that the trail has for the ends of a client's links.
    private func unlinkings(of client: LinkingClient) async throws -> [String] {
        try await scratch.texts(
            "SELECT reason FROM audit_events WHERE type = 'client_unlinked' AND reason LIKE \(client.id + "%")")
    }

    /// One of few bytes a character, and one of many.
    @Test(arguments: [String(repeating: "a", count: 1_024), String(repeating: "e\u{301}\u{302}\u{303}", count: 146)])
    func `of a long reason the trail keeps what it has room for`(reason: String) async throws {
        let linked = try await link("reasoned-\(reason.utf8.count)")
        let path = "/admin/v1/accounts/\(linked.device.account.id)/linked-clients/\(linked.client.id)"
        #expect(try await administer("DELETE", "\(path)?reason=\(FormEncoding.encode(reason))") == 204)
        try await expectEnd(of: linked)
        let kept = try #require(try await unlinkings(of: linked.client).first)
        #expect("\(linked.client.id) \(reason)".utf8.starts(with: kept.utf8) && 1_021...1_024 ~= kept.utf8.count)
    }

    private func expectNotice(to device: SignedInDevice) async throws {
        let email = try #require(device.account.email)
        try await eventually("the notice") {
            try world.mailbox(email).contains { $0.header("Subject")?.contains("no longer linked to Google") == true }
        }
    }

    @Test func `an administrator ends a link at the console, by the button beside it`() async throws {
        let (linked, other) = (try await link("at-console"), try await world.linkingClient())
        let id = linked.device.account.id
        let visit = try await ConsoleVisit.signedIn(to: world, name: "unlinking")
        let page = try await visit.account(id)
        let question = try await visit.ask("Unlink client", on: page)
        #expect(question.html.text.contains(linked.client.id) && question.html.text.contains(id))
        #expect(question.buttons == ["Sign out", "Unlink client", "Cancel"])
        let path = "/console/accounts/\(id)/unlink-client/"
        // A client that is not linked has no such page, and a form is for the client of its own page alone.
        for client in [other.id, "none", "a%20b"] { #expect(try await visit.open(path + client).status == 404) }
        let token = try #require(try question.form(path + linked.client.id).input("csrf")?.value)
        #expect(try await visit.browser.send([("csrf", token)], to: path + other.id, on: question).status == 403)
        #expect(try await world.isAlive(linked.tokens, linked.client))
        let done = try await visit.act("Unlink client", on: page, typed: ["reason": "case 41"])
        #expect(done.notice == "The client is unlinked.")
        #expect(!done.buttons.contains("Unlink client") && done.html.text.contains("No client is linked."))
        try await expectEnd(of: linked)
        #expect(try await world.audited("client_unlinked", by: "unlinking", reason: "\(linked.client.id) case 41") == 1)
        try await expectNotice(to: linked.device)
        let reader = try await ConsoleVisit.signedIn(to: world, "read", name: "looking")
        #expect(
            try await !reader.account(try await link("looked-at").device.account.id).buttons.contains("Unlink client"))
    }

    @Test func `an operator ends a link at the command line, and its owner is notified where mail is configured`()
        async throws
    {
        let (one, two) = (try await link("by-command"), try await link("by-command-alone"))
        let plain = ["postgres.url": scratch.url]
        let mail = [
            "mail.smtpUrl": "smtp://127.0.0.1:\(try #require(MailedWorld.server).port)",
            "mail.from": "lamp@example.com",
        ]
        for (linked, settings) in [(one, plain.merging(mail) { $1 }), (two, plain)] {
            let id = linked.device.account.id
            let arguments = ["account", "unlink-client", id, linked.client.id, "--reason", "case 42"]
            let ended = try await Countersign.run(arguments, settings)
            #expect(ended.status == 0 && ended.output.isEmpty, "\(ended.error)")
            try await expectEnd(of: linked)
            let recorded = "\(linked.client.id) case 42"
            #expect(
                try await world.recorded("type = 'client_unlinked' AND actor = 'operator' AND reason = \(recorded)")
                    == 1)
            let again = try await Countersign.run(arguments, settings)
            let sentence = "There is no account \(id) with a linked client \(linked.client.id)."
            #expect(again.status == 1 && again.error == "countersign: \(sentence)\n")
        }
        try await expectNotice(to: one.device)
    }

    @Test func `disabling an account ends its links, and enabling revives none`() async throws {
        let linked = try await link("disabled")
        let path = "/admin/v1/accounts/\(linked.device.account.id)"
        #expect(try await administer("POST", path + "/disable", #"{"reason":"a test"}"#) == 204)
        try await expectEnd(of: linked)
        #expect(try await administer("POST", path + "/enable", #"{"reason":"a test"}"#) == 204)
        try await expectEnd(of: linked)
    }

    @Test func `signing out everywhere ends the links, for the person and for an administrator`() async throws {
        let (one, two) = (try await link("everywhere"), try await link("by-support"))
        for scope in ["current", "others"] {
            let device = try SignedInDevice(try await world.signIn("everywhere", with: .google))
            _ = try await service.signOut(scope, bearer: device.bearer)
            #expect(try await world.isAlive(one.tokens, one.client))
        }
        let device = try SignedInDevice(try await world.signIn("everywhere", with: .google))
        try await service.signOut("all", bearer: device.bearer).expecting(204)
        try await expectEnd(of: one)
        let path = "/admin/v1/accounts/\(two.device.account.id)/sign-out"
        #expect(try await administer("POST", path, #"{"reason":"a test"}"#) == 204)
        try await expectEnd(of: two)
    }

    @Test func `deleting an account ends its links`() async throws {
        let linked = try await link("deleted")
        #expect(try await service.delete("/v1/account", bearer: linked.device.bearer).status == 202)
        try await expectEnd(of: linked)
        #expect(try await world.grants(of: linked.client) == 0)
    }

    @Test func `a reset of the password ends the links, a change keeps them`() async throws {
        let linked = try await link("resetter")
        try await service.setPassword(bearer: linked.device.bearer)
        #expect(try await world.isAlive(linked.tokens, linked.client))
        let code = try await world.mailedCode("resetPassword", to: "resetter@gmail.com")
        let reset = try await service.post(
            "/v1/accounts/password-reset",
            ["email": "resetter@gmail.com", "code": .string(code), "newPassword": "another horse battery"])
        #expect(reset.status == 204)
        try await expectEnd(of: linked)
    }

    @Test func `a provider that ends all sessions ends the links`() async throws {
        let linked = try await link("hijacked")
        try await world.sandbox.sendGoogleEvent(
            "sessions-revoked", about: .person("hijacked"), clientID: Countersign.googleClient,
            to: service.url + "/v1/events/google")
        try await eventually("the event") { try await world.userinfo(linked.tokens.access).status == 401 }
        try await expectEnd(of: linked)
    }

    // MARK: The account changes hands

    /// Somebody who has linked a client by their app, without our pages.
    private func flip(_ device: SignedInDevice) async throws -> (client: LinkingClient, tokens: LinkedTokens) {
        let client = try await world.linkingClient()
        let flip = client.flip.with("platform", "android")
        let code = try await service.post("/oauth/flip", flip, bearer: device.bearer).text("code")
        let tokens = try LinkedTokens(try await world.redeem(code, client, ["redirect_uri": OAuthWorld.flipURI]))
        #expect(try await world.isAlive(tokens, client))
        return (client, tokens)
    }

    /// Expects the link to be gone, and not only useless for what became of the account.
    private func expectEnd(
        of linked: (client: LinkingClient, tokens: LinkedTokens), because reason: String,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(try await !world.isAlive(linked.tokens, linked.client), sourceLocation: location)
        #expect(try await world.grants(of: linked.client) == 0, sourceLocation: location)
        let recorded = "\(linked.client.id) \(reason)"
        #expect(
            try await world.recorded("type = 'client_unlinked' AND reason = \(recorded)") == 1,
            sourceLocation: location)
    }

    private func register(_ email: String) async throws -> SignedInDevice {
        try SignedInDevice(try await world.register(email), status: 201)
    }

    private func create(_ question: Question) async throws -> SignedInDevice {
        try SignedInDevice(try await world.create(for: question), status: 201)
    }

    @Test func `the first proof of a mailbox ends the links of who was there before`() async throws {
        // Registered with an address that is somebody else's.
        let linked = try await flip(try await register("victim@own.example"))
        #expect(try await world.signIn(byCodeTo: "victim@own.example").json?["status"]?.string == "signedIn")
        try await expectEnd(of: linked, because: "email_proven")
    }

    @Test func `a take-over by the reader of the mailbox ends the links of who was there before`() async throws {
        // Apple verified the address once, and does not run the mailbox.
        try await world.newPerson("former", email: "boss@newco.example")
        let former = try await create(try Question(try await world.signIn("former", with: .apple)))
        let linked = try await flip(former)
        let question = try Question(try await world.signIn(byCodeTo: "boss@newco.example"))
        #expect(question.choices == ["bind", "create"])
        let owner = try SignedInDevice(
            try await service.post("/v1/links/bind", ["linkTicket": .string(question.ticket)]))
        #expect(owner.account.id == former.account.id)
        try await expectEnd(of: linked, because: "email_proven")
    }

    @Test func `an account that loses its address to the owner loses its links`() async throws {
        let linked = try await flip(try await register("reclaimed@gmail.com"))
        // Google runs the mailbox, so its person may take the address.
        try await world.newPerson("reclaiming", email: "reclaimed@gmail.com")
        let owner = try await create(try Question(try await world.signIn("reclaiming", with: .google)))
        #expect(owner.account.email == "reclaimed@gmail.com")
        try await expectEnd(of: linked, because: "email_reclaimed")
    }

    @Test func `an account that is merged into another loses its links, which is recorded`() async throws {
        try await world.newPerson("stray", email: "stray@own.example")
        let early = try Question(try await world.signIn("stray", with: .google))
        let linked = try await flip(try await create(try Question(try await world.signIn("stray", with: .google))))
        let member = try await register("keeps-both@own.example")
        let bound = try SignedInDevice(try await service.bind(early.ticket, bearer: member.bearer))
        #expect(bound.account.id == member.account.id)
        try await expectEnd(of: linked, because: "account_merged")
    }

    @Test func `a replacement of the address by an administrator ends the links`() async throws {
        let device = try await register("lost@own.example")
        let linked = try await flip(device)
        let path = "/admin/v1/accounts/\(device.account.id)/replace-email"
        #expect(try await administer("POST", path, #"{"email":"found@own.example","reason":"a test"}"#) == 202)
        #expect(try await world.isAlive(linked.tokens, linked.client))
        // The day passes.
        try await scratch.execute("UPDATE email_replacements SET due_at = now() - interval '1 second'")
        try await eventually("the replacement") {
            try await world.count("SELECT count(*) FROM accounts WHERE email = 'found@own.example'") == 1
        }
        try await expectEnd(of: linked, because: "email_replaced")
    }
}
