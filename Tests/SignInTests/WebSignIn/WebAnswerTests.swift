import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Whose answer is taken, from which browser, and once: before anything is sent to a provider.
@Suite(.fixture(WebFixture.self)) struct WebAnswerTests {
    var fixture: WebFixture { .current }

    @Test func `Apple's answer is held for the browser, and taken once`() async throws {
        let flow = try await fixture.open()
        let answer = try await fixture.appleAnswer(flow)
        let handle = try await fixture.hold(answer)
        #expect(try await fixture.status(flow) == "returned")
        #expect(try await fixture.sealed(flow).sorted() == ["answer", "secrets"])
        // Neither is readable in the database.
        for secret in [answer.code, answer.idToken, answer.state, handle] {
            #expect(try await fixture.base.tables(holding: try #require(secret)) == [])
        }
        // A second post, as a replay of the form is.
        try await expectFailure("webAnswerRefused") { try await fixture.hold(answer) }
        let step = try await fixture.finish(handle: handle)
        #expect(try !step.appReturn.isError)
        #expect(try await fixture.finish(handle: handle).appReturn == step.appReturn)
        #expect(try await fixture.exchanges(at: .apple).count == 1)
        #expect(try await fixture.refusals() == ["web_state_unknown"])
    }

    /// Which cookie comes with the answer.
    enum Cookie: CaseIterable, Sendable {
        case none, another

        func secret() throws -> BrowserSecret? { self == .none ? nil : try .fresh() }
    }

    @Test(arguments: Provider.allCases, Cookie.allCases)
    func `an answer in another browser fails the flow, and is sent nowhere`(
        provider: Provider, cookie: Cookie
    ) async throws {
        let flow = try await fixture.open()
        let other = try cookie.secret()
        let refused = other == nil ? "webCookieMissing" : "webAnswerRefused"
        switch provider {
        case .apple:
            let handle = try await fixture.hold(try await fixture.appleAnswer(flow))
            try await expectFailure(refused) {
                try await fixture.web.finishApple(handle: handle, browser: other, by: fixture.call)
            }
            try await expectFailure("webAnswerRefused") { try await fixture.finish(handle: handle) }
        case .google:
            let answer = try await fixture.googleAnswer(flow)
            try await expectFailure(refused) {
                try await fixture.web.finishGoogle(answer, browser: other, by: fixture.call)
            }
            try await expectFailure("webAnswerRefused") { try await fixture.finish(answer) }
        }
        #expect(try await fixture.status(flow) == "failed")
        #expect(try await fixture.sealed(flow) == [])
        #expect(try await fixture.exchanges(at: provider).isEmpty)
        #expect(try await fixture.refusals() == ["web_browser_mismatch", "web_state_unknown"])
    }

    @Test func `the state of another provider, another flow or none is refused`() async throws {
        let (toApple, toGoogle) = (try await fixture.open(), try await fixture.open())
        let apple = try await fixture.appleAnswer(toApple)
        let google = try await fixture.googleAnswer(toGoogle)
        for state in [google.state, "", "unknown", try BrowserSecret.fresh().text] {
            let forged = AppleAnswer(state: state, code: apple.code, idToken: apple.idToken, user: nil, error: nil)
            try await expectFailure("webAnswerRefused") { try await fixture.hold(forged) }
        }
        for state in [apple.state, "", "unknown", try BrowserSecret.fresh().text] {
            let forged = GoogleAnswer(state: state, code: google.code, issuer: google.issuer, error: nil)
            try await expectFailure("webAnswerRefused") { try await fixture.finish(forged) }
        }
        // The handle of Apple's answer is no state of Google's, nor the state a handle.
        try await expectFailure("webAnswerRefused") { try await fixture.finish(handle: apple.state) }
        #expect(try await fixture.exchanges(at: .apple).isEmpty)
        #expect(try await fixture.exchanges(at: .google).isEmpty)
        // Neither flow has lost anything by it.
        #expect(try await !fixture.finish(apple).appReturn.isError)
        #expect(try await !fixture.finish(google).appReturn.isError)
    }

    @Test(arguments: Provider.allCases)
    func `a flow that starts once more forgets the first start`(second: Provider) async throws {
        let flow = try await fixture.open()
        let first = try await fixture.appleAnswer(flow)
        if second == .apple {
            // Even when the first answer is held by then.
            let handle = try await fixture.hold(first)
            let answer = try await fixture.appleAnswer(flow)
            try await expectFailure("webAnswerRefused") { try await fixture.finish(handle: handle) }
            #expect(try await !fixture.finish(answer).appReturn.isError)
        } else {
            let answer = try await fixture.googleAnswer(flow)
            try await expectFailure("webAnswerRefused") { try await fixture.hold(first) }
            #expect(try await !fixture.finish(answer).appReturn.isError)
        }
    }

    @Test func `an answer is held for a minute, a flow kept for ten`() async throws {
        let (held, waiting) = (try await fixture.open(), try await fixture.open())
        let handle = try await fixture.hold(try await fixture.appleAnswer(held))
        let google = try await fixture.googleAnswer(waiting)
        try await fixture.base.advance(by: 60)
        try await expectFailure("webAnswerRefused") { try await fixture.finish(handle: handle) }
        try await fixture.base.advance(by: 540)
        try await expectFailure("webAnswerRefused") { try await fixture.finish(google) }
        try await expectFailure("webFlowExpired") { try await fixture.page(waiting) }
        #expect(try await fixture.exchanges(at: .apple).isEmpty)
        #expect(try await fixture.exchanges(at: .google).isEmpty)
    }

    @Test func `two tabs of one browser finish`() async throws {
        let (one, two) = (try await fixture.open(), try await fixture.open(WebFixture.privateURI))
        let (first, second) = (try await fixture.appleAnswer(one), try await fixture.googleAnswer(two, "ada"))
        let other = try await fixture.finish(second)
        #expect(try other.appReturn.kind == .privateScheme("com.example.lamp"))
        let own = try await fixture.finish(first)
        #expect(try own.appReturn.kind == .https)
        // Each for its own attempt.
        let kim = try await fixture.exchange(try own.code).ticket
        #expect(kim.person.email?.text == "kim@example.com")
        let ada = try await fixture.exchange(try other.code, redirectURI: WebFixture.privateURI).ticket
        #expect(ada.person.email?.text == "ada@example.com")
    }

    @Test func `a flow is its browser's alone`() async throws {
        let flow = try await fixture.open()
        let foreign = FlowReference(id: flow.id, browser: try .fresh())
        try await expectFailure("webFlowExpired") { try await fixture.web.flow(foreign, by: fixture.call) }
        try await expectFailure("webFlowExpired") { try await fixture.web.start(.apple, in: foreign, by: fixture.call) }
        try await expectFailure("webFlowExpired") { try await fixture.web.cancel(foreign, by: fixture.call) }
        #expect(try await fixture.status(flow) == "new")
    }

    @Test(.web { $0.limits = [.webFlowsPerNetwork: .limit(count: 3, seconds: 900)] })
    func `flows are bounded for each network`() async throws {
        for _ in 0..<3 { _ = try await fixture.open(from: "192.0.2.0/24") }
        try await expectFailure("rateLimited") { try await fixture.open(from: "192.0.2.0/24") }
        _ = try await fixture.open(from: "198.51.100.0/24")
        #expect(try await fixture.count("web_flows") == 4)
    }

    @Test(.web { $0.limits = [.webFlowsPerNetwork: .limit(count: 1, seconds: 900)] })
    func `the networks of a wide one open twenty times as many flows between them`() async throws {
        @Sendable func open(_ index: Int) async throws -> WebFlow {
            try await fixture.open(from: "2001:db8:1:\(index)::/64", of: "2001:db8:1::/48")
        }
        for index in 0..<20 { _ = try await open(index) }
        try await expectFailure("rateLimited") { try await open(20) }
        #expect(try await fixture.count("web_flows") == 20)
    }

    // MARK: The same browser once more

    @Test func `the same answer has the same code until the app comes, and no other answer or browser has it`()
        async throws
    {
        let flow = try await fixture.open()
        let answer = try await fixture.googleAnswer(flow)
        let answers = try await concurrently(0..<4) { _ in try await fixture.finish(answer).appReturn }
        #expect(Set(answers).count == 1)
        #expect(try await fixture.exchanges(at: .google).count == 1)
        // As of who has gone back to Google's page, and taken another account.
        let other = GoogleAnswer(state: answer.state, code: "4/0Aother", issuer: answer.issuer, error: nil)
        try await expectFailure("webAnswerRefused") { try await fixture.finish(other) }
        let browser = try BrowserSecret.fresh()
        try await expectFailure("webAnswerRefused") {
            try await fixture.web.finishGoogle(answer, browser: browser, by: fixture.call)
        }
        let step = try await fixture.finish(answer)
        #expect(try step.appReturn == answers.first)
        _ = try await fixture.exchange(try step.code).ticket
        try await expectFailure("webAnswerRefused") { try await fixture.finish(answer) }
        #expect(try await fixture.status(flow) == "spent")
        #expect(try await fixture.exchanges(at: .google).count == 1)
    }

    @Test func `a provider's answer is answered no more when its code is over`() async throws {
        let answer = try await fixture.googleAnswer(try await fixture.open())
        _ = try await fixture.finish(answer).code
        try await fixture.base.advance(by: 60)
        try await expectFailure("webAnswerRefused") { try await fixture.finish(answer) }
    }

    @Test(arguments: Provider.allCases)
    func `in a flow that ends here it leads to the question, and then for a minute opens the same session`(
        provider: Provider
    ) async throws {
        /// A way back from the provider, which may be gone more than once.
        func wayBack(in flow: WebFlow) async throws -> @Sendable () async throws -> WebStep {
            let fixture = self.fixture
            switch provider {
            case .apple:
                let handle = try await fixture.hold(try await fixture.appleAnswer(flow))
                return { try await fixture.finish(handle: handle) }
            case .google:
                let answer = try await fixture.googleAnswer(flow)
                return { try await fixture.finish(answer) }
            }
        }
        let asked = try await fixture.openAccountFlow()
        let first = try await wayBack(in: asked)
        let ticket = try await first().link.required.linkTicket
        #expect(try await first().link.required.linkTicket == ticket)
        _ = try await fixture.create(in: asked).cookie
        try await expectFailure("webAnswerRefused") { try await first() }

        let second = try await wayBack(in: try await fixture.openAccountFlow())
        let cookies = try await concurrently(0..<4) { _ in try await second().cookie.text }
        #expect(Set(cookies).count == 1)
        let cookie = try await second().cookie
        #expect(cookie.text == cookies.first)
        try await fixture.web.sessions.end(cookie, by: fixture.call)
        try await expectFailure("webAnswerRefused") { try await second() }

        // Later the address in the history of a browser that was closed opens nothing.
        let third = try await wayBack(in: try await fixture.openAccountFlow())
        let live = try await third().cookie
        try await fixture.base.advance(by: 59)
        #expect(try await third().cookie.text == live.text)
        try await fixture.base.advance(by: 1)
        try await expectFailure("webAnswerRefused") { try await third() }
        #expect(try await fixture.session(live) != nil)
        #expect(try await fixture.exchanges(at: provider).count == 3)
    }

    @Test func `who has cancelled at the provider, or gone on by another way, is led to where the flow stands`()
        async throws
    {
        let flow = try await fixture.open()
        let cancelled = try await fixture.googleAnswer(flow, action: "cancel")
        guard case .choose(_, .cancelled?) = try await fixture.finish(cancelled),
            case .choose(let page, nil) = try await fixture.finish(cancelled)
        else { return #expect(Bool(false)) }
        #expect(page.id == flow.id && page.status == .new)

        try await fixture.register("lee@example.com")
        let answer = try await fixture.googleAnswer(flow)
        _ = try await fixture.enter("lee@example.com", in: flow).code
        try await expectFailure("webAnswerRefused") { try await fixture.finish(answer) }
        let past = try await fixture.web.lateFlow(of: answer, browser: fixture.browser, by: fixture.call)
        #expect(past?.isOver == true && past?.isOfBrowser == true)
    }

    // MARK: Another configuration meanwhile

    /// What the operator has changed while the browser was at a provider.
    enum Change: CaseIterable, Sendable {
        case client, callback, providers

        func apply(to configuration: inout WebSignIn.Configuration) {
            switch self {
            case .client:
                configuration.apple?.servicesID = ProviderClientID("com.example.other.web")
                configuration.google?.clientID = ProviderClientID("other.apps.googleusercontent.com")
            case .callback: configuration.publicURL = "https://other.example.com"
            case .providers: (configuration.apple, configuration.google) = (nil, nil)
            }
        }
    }

    @Test(arguments: Provider.allCases, Change.allCases)
    func `an answer for another client or callback than is configured by now ends the flow, and is sent nowhere`(
        provider: Provider, change: Change
    ) async throws {
        let flow = try await fixture.open()
        let changed = try fixture.reconfigured { change.apply(to: &$0) }
        switch provider {
        case .apple:
            let answer = try await fixture.appleAnswer(flow)
            try await expectFailure("webFlowExpired") { try await changed.finish(answer) }
        case .google:
            let answer = try await fixture.googleAnswer(flow)
            try await expectFailure("webFlowExpired") { try await changed.finish(answer) }
        }
        #expect(try await fixture.status(flow) == "failed")
        #expect(try await fixture.sealed(flow) == [])
        #expect(try await fixture.exchanges(at: provider).isEmpty)
    }

    @Test(arguments: [[], [WebFixture.privateURI]])
    func `nothing is handed over where the app, or the address of it that asked, is configured no more`(
        left: [String]
    ) async throws {
        try await fixture.register("lee@example.com")
        let (toApple, here) = (try await fixture.open(), try await fixture.open())
        let answer = try await fixture.appleAnswer(toApple)
        let changed = try fixture.reconfigured { configuration in
            let uris = left.compactMap(AppRedirectURI.init(registering:))
            configuration.apps = uris.isEmpty ? [] : [WebApp(id: "lamp", name: "Lamp", redirectURIs: uris)]
        }
        try await expectFailure("webFlowExpired") { try await changed.finish(answer) }
        try await expectFailure("webFlowExpired") { try await changed.enter("lee@example.com", in: here) }
        #expect(try await fixture.count("web_flows WHERE code_hash IS NOT NULL") == 0)
        // What Apple's code brought is ended.
        #expect(try await fixture.base.audited(.revocationRequested) == ["service expired"])
    }
}
