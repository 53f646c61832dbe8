import Postgres
import TestSupport
import Testing

/// What browsers and the people before them do at the same time, twice, or backwards.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(30))) struct BrowserMoveTests: WorldSuite {
    @Test func `a double click on a provider's button leaves one way to the end`() async throws {
        let browser = world.browser()
        try await world.newPerson("hasty")
        let attempt = try AppAttempt()
        let page = try await world.chooser(attempt, browser)
        let form = try page.form("/web/start/google")
        async let one = browser.submit(form, on: page)
        async let other = browser.submit(form, on: page)
        let pages = try await [one, other]
        let ends = try await [
            world.consent("hasty", at: pages[0], browser), world.consent("hasty", at: pages[1], browser),
        ]
        let answers = ends.filter { $0.handedOver != nil }
        #expect(answers.count == 1)
        #expect(ends.filter { $0.status == 400 }.count == 1)
        let back = try AppAnswer(try #require(answers.first))
        #expect(try await world.exchange(try back.code(), attempt).status == 200)
    }

    @Test func `a double click at Apple posts twice, and only the first one counts`() async throws {
        let browser = world.browser()
        try await world.newPerson("twice")
        let attempt = try AppAttempt()
        let page = try await world.chooser(attempt, browser)
        let shown = try await world.press(.apple, on: page, browser)
        let form = try await world.consent("twice", at: shown, browser)
        let answer = try #require(form.html.forms.first)
        let first = try await browser.submit(answer, on: form, following: false).expecting(303)
        #expect(try await browser.submit(answer, on: form).expecting(400).locations == [])
        let back = try AppAnswer(try await browser.follow(first))
        #expect(try await world.exchange(try back.code(), attempt).status == 200)
    }

    @Test(arguments: Sandbox.Provider.allCases)
    func `the page that opens an app is the same when it is loaded again, until the app has come`(
        _ provider: Sandbox.Provider
    ) async throws {
        let browser = world.browser()
        let person = "reloading-\(provider.rawValue)"
        try await world.newPerson(person)
        let attempt = try AppAttempt(redirectURI: WebWorld.privateScheme)
        let chooser = try await world.chooser(attempt, browser)
        let page = try await world.signIn(person, with: provider, on: chooser, browser).expecting(200)
        let back = try AppAnswer(page)
        let code = try back.code()
        let again = try await browser.open(page.url).expecting(200)
        #expect(try AppAnswer(again).uri == back.uri)
        let other = try await world.browser().open(page.url).expecting(400)
        #expect(!other.answer.body.contains(code))
        #expect(try await world.exchange(code, attempt).status == 200)
        let late = try await browser.open(page.url).expecting(400)
        #expect(late.html.title.hasPrefix("This sign-in is over"), "\(late.answer.body)")
    }

    @Test func `a provider's answer that comes twice adds the provider, and leads to the account both times`()
        async throws
    {
        let (browser, page, _) = try await AccountHolder.signedIn("adding-twice")
        try await world.newPerson("added-twice")
        let shown = try await browser.submit("/web/account/link/google", on: page)
        let url = try await world.consent("added-twice", at: shown, browser, following: false).location()
        let pages = try await concurrently(0..<2) { _ in try await browser.open(url) }
        for page in pages {
            #expect(page.status == 200 && page.url.contains("/web/account"), "\(page.answer.text)")
        }
        // The other's code may have been another one's.
        #expect(pages.filter { $0.html.text.contains("Google is added.") }.count == 1)
    }

    @Test func `a HEAD and a prefetch open and spend nothing`() async throws {
        let browser = world.browser()
        try await world.newPerson("eager")
        let attempt = try AppAttempt()
        for (early, status) in [
            (try await browser.open(attempt.url(), method: "HEAD", following: false), 204),
            // A browser drops a refusal. Anything else it would show at the click.
            (
                try await browser.open(
                    attempt.url(), following: false, headers: [("Sec-Purpose", "prefetch;prerender")]), 403
            ),
        ] {
            #expect(early.expecting(status).answer.values("Set-Cookie") == [])
        }
        #expect(try await world.count("SELECT count(*) FROM web_flows WHERE app_state = \(attempt.state)") == 0)

        let page = try await world.chooser(attempt, browser)
        let shown = try await world.press(.apple, on: page, browser)
        let form = try await world.consent("eager", at: shown, browser)
        let held = try await browser.submit(try #require(form.html.forms.first), on: form, following: false)
        let finish = Browser.resolve(try held.location(), on: held.url)
        let head = try await browser.open(finish, method: "HEAD", following: false)
        #expect(head.answer.body == "")
        #expect(head.answer["Location"] == nil)
        try await browser.open(finish, following: false, headers: [("Sec-Purpose", "prefetch")]).expecting(403)
        let back = try AppAnswer(try await browser.follow(held))
        #expect(try await world.exchange(try back.code(), attempt).status == 200)
    }
}
