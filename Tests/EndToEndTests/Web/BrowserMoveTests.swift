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
