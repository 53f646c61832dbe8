import JSON
import Postgres
import TestSupport
import Testing

/// What browsers and the people before them do at the same time, twice, or backwards.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(5))) struct BrowserMoveTests {
    var world: World { .current }

    @Test func `two tabs of one browser finish, each for its own attempt`() async throws {
        let browser = world.browser()
        try await world.newPerson("left")
        try await world.newPerson("right")
        let (left, right) = (try AppAttempt(), try AppAttempt())
        let leftPage = try await world.chooser(left, browser)
        let rightPage = try await world.chooser(right, browser)
        let leftProvider = try await world.press(.google, on: leftPage, browser)
        let rightDone = try await world.signIn("right", with: .apple, on: rightPage, browser)
        let leftDone = try await world.consent("left", at: leftProvider, browser)
        for (person, attempt, page) in [("left", left, leftDone), ("right", right, rightDone)] {
            let back = try AppAnswer(page)
            #expect(back["state"] == attempt.state)
            let question = try Question(try await world.exchange(try #require(back["code"]), attempt))
            #expect(question.email == "\(person)@example.com")
        }
    }

    @Test func `who goes back and takes the other provider leaves the first one's answer worth nothing`() async throws {
        let browser = world.browser()
        try await world.newPerson("wavering")
        let attempt = try AppAttempt()
        let page = try await world.chooser(attempt, browser)
        let first = try await world.press(.google, on: page, browser)
        let second = try await world.press(.apple, on: page, browser)
        let late = try await world.consent("wavering", at: first, browser)
        #expect(late.status == 400)
        #expect(late.handedOver == nil)
        let form = try await world.consent("wavering", at: second, browser)
        let back = try AppAnswer(try await browser.submit(try #require(form.html.forms.first), on: form))
        let question = try Question(try await world.exchange(try #require(back["code"]), attempt))
        #expect(question.method == "apple")
    }

    @Test func `who goes back after the end finds a flow that is over, and starts again in the app`() async throws {
        let browser = world.browser()
        try await world.newPerson("returning")
        let attempt = try AppAttempt()
        let page = try await world.chooser(attempt, browser)
        let back = try AppAnswer(try await world.signIn("returning", with: .google, on: page, browser))
        let late = try await browser.submit(try page.form("/web/start/google"), on: page)
        #expect(late.status == 400)
        #expect(late.locations == [])
        // What the first end gave is still good.
        #expect(try await world.exchange(try #require(back["code"]), attempt).status == 200)
    }

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
        #expect(try await world.exchange(try #require(back["code"]), attempt).status == 200)
    }

    @Test func `a double click at Apple posts twice, and only the first one counts`() async throws {
        let browser = world.browser()
        try await world.newPerson("twice")
        let attempt = try AppAttempt()
        let page = try await world.chooser(attempt, browser)
        let shown = try await world.press(.apple, on: page, browser)
        let form = try await world.consent("twice", at: shown, browser)
        let answer = try #require(form.html.forms.first)
        let first = try await browser.submit(answer, on: form, following: false)
        #expect(first.status == 303)
        let second = try await browser.submit(answer, on: form)
        #expect(second.status == 400)
        #expect(second.locations == [])
        let back = try AppAnswer(try await browser.follow(first))
        #expect(try await world.exchange(try #require(back["code"]), attempt).status == 200)
    }

    @Test func `a HEAD and a prefetch open and spend nothing`() async throws {
        let browser = world.browser()
        try await world.newPerson("eager")
        let attempt = try AppAttempt()
        for prefetch in [
            try await browser.open(attempt.url(), method: "HEAD", following: false),
            try await browser.open(attempt.url(), following: false, headers: [("Sec-Purpose", "prefetch;prerender")]),
        ] {
            #expect(prefetch.status < 500)
            #expect(prefetch.answer.values("Set-Cookie") == [])
        }
        #expect(try await world.count("SELECT count(*) FROM web_flows WHERE app_state = \(attempt.state)") == 0)

        let page = try await world.chooser(attempt, browser)
        let shown = try await world.press(.apple, on: page, browser)
        let form = try await world.consent("eager", at: shown, browser)
        let held = try await browser.submit(try #require(form.html.forms.first), on: form, following: false)
        let finish = Browser.resolve(try #require(held.answer["Location"]), on: held.url)
        let head = try await browser.open(finish, method: "HEAD", following: false)
        #expect(head.answer.body == "")
        #expect(head.answer["Location"] == nil)
        _ = try await browser.open(finish, following: false, headers: [("Sec-Purpose", "prefetch")])
        let back = try AppAnswer(try await browser.follow(held))
        #expect(try await world.exchange(try #require(back["code"]), attempt).status == 200)
    }
}
