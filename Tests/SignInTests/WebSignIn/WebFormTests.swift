import Accounts
import Postgres
import Storage
import TestSupport
import Testing

@testable import SignIn

/// A form that ends a flow, at its app or here, and that the browser sends more than once.
@Suite(.fixture(WebFixture.self)) struct WebFormTests {
    var fixture: WebFixture { .current }

    private static let email = "lee@example.com"

    /// The flow, whose browser posts something.
    private static func reference(
        _ flow: WebFlow, posting form: String = "form", about link: LinkRequired? = nil, in fixture: WebFixture
    ) -> FlowReference {
        FlowReference(id: flow.id, browser: fixture.browser, input: Array(form.utf8), ticket: link?.ticketName)
    }

    private static func signIn(
        _ reference: FlowReference, in fixture: WebFixture, from network: Network? = nil
    ) async throws -> WebStep {
        try await fixture.web.password(
            email: email, password: SignInFixture.password, in: reference,
            by: fixture.call(by: fixture.base.caller(from: network)))
    }

    @Test func `the same form has the same answer until the app comes, and no other form or browser has it`()
        async throws
    {
        try await fixture.register(Self.email)
        let flow = try await fixture.open()
        let form = Self.reference(flow, in: fixture)
        let answer = try await Self.signIn(form, in: fixture).appReturn
        #expect(try await Self.signIn(form, in: fixture).appReturn == answer)
        for other in [
            Self.reference(flow, posting: "another form", in: fixture), fixture.reference(flow),
            FlowReference(id: flow.id, browser: try .fresh(), input: form.input),
        ] { try await expectFailure("webFlowExpired") { try await Self.signIn(other, in: fixture) } }
        try await fixture.base.advance(by: 59)
        let code = try await Self.signIn(form, in: fixture).code
        #expect(try await fixture.base.tables(holding: code) == [])
        _ = try await fixture.exchange(code).session
        try await expectFailure("webFlowExpired") { try await Self.signIn(form, in: fixture) }
        // Nothing of that was a second use of the code.
        #expect(try await fixture.status(flow) == "spent")
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 2)
    }

    @Test func `a code that is over is answered no more`() async throws {
        try await fixture.register(Self.email)
        let form = Self.reference(try await fixture.open(), in: fixture)
        _ = try await Self.signIn(form, in: fixture).code
        try await fixture.base.advance(by: 60)
        try await expectFailure("webFlowExpired") { try await Self.signIn(form, in: fixture) }
    }

    enum Way: CaseIterable, Sendable { case password, emailCode, registration, reset, create, bind }

    /// What posts the last form of a way to sign in, all before which is done.
    private func lastForm(of way: Way, in flow: WebFlow) async throws -> @Sendable () async throws -> WebStep {
        let fixture = self.fixture
        let form = Self.reference(flow, in: fixture)
        if way != .registration { try await fixture.register(Self.email) }
        switch way {
        case .password: return { try await Self.signIn(form, in: fixture) }
        case .emailCode:
            try await fixture.web.mailCode(to: Self.email, in: form, by: fixture.call)
            let digits = try await fixture.mailedCode(.signIn, to: Self.email)
            return { try await fixture.web.emailCode(email: Self.email, code: digits, in: form, by: fixture.call) }
        case .registration:
            try await fixture.web.register(
                email: Self.email, password: SignInFixture.password, displayName: nil, in: form, by: fixture.call)
            let digits = try await fixture.mailedCode(.register, to: Self.email)
            return { try await fixture.web.confirmRegistration(code: digits, in: form, by: fixture.call) }
        case .reset:
            try await fixture.web.mailResetCode(to: Self.email, in: form, by: fixture.call)
            let digits = try await fixture.mailedCode(.resetPassword, to: Self.email)
            return {
                try await fixture.web.resetPassword(
                    email: Self.email, code: digits, newPassword: "another good password", in: form, by: fixture.call)
            }
        case .create, .bind:
            let link = try await fixture.sign(in: flow, at: .google).link.required
            let form = Self.reference(flow, about: link, in: fixture)
            guard way == .bind else {
                return { try await fixture.web.create(in: form, displayName: nil, by: fixture.call) }
            }
            let credential = BindCredential.password(email: Self.email, password: SignInFixture.password)
            return { try await fixture.web.bind(in: form, credential: credential, by: fixture.call) }
        }
    }

    @Test(arguments: [Way.password, .emailCode, .registration])
    func `of several at once each has the answer`(way: Way) async throws {
        let send = try await lastForm(of: way, in: try await fixture.open())
        let answers = try await concurrently(0..<4) { _ in try await send().appReturn }
        #expect(Set(answers).count == 1)
        let step = try await send()
        #expect(try step.appReturn == answers.first)
        #expect(try await fixture.exchange(try step.code).session.account.email?.text == Self.email)
        #expect(try await fixture.count("accounts") == 1)
    }

    // MARK: A flow that ends here

    @Test func `the same form opens the same session while that is live, and no other form or browser does`()
        async throws
    {
        try await fixture.register(Self.email)
        let flow = try await fixture.openAccountFlow()
        let form = Self.reference(flow, in: fixture)
        let cookie = try await Self.signIn(form, in: fixture).cookie
        #expect(try await fixture.base.tables(holding: cookie.text) == [])
        guard case .signedIn(let page, let again) = try await Self.signIn(form, in: fixture) else {
            throw SignInFixture.Unexpected.linkRequired
        }
        #expect(again.text == cookie.text && page.id == flow.id && page.status == .spent)
        for other in [
            Self.reference(flow, posting: "another form", in: fixture), fixture.reference(flow),
            FlowReference(id: flow.id, browser: try .fresh(), input: form.input),
        ] { try await expectFailure("webFlowExpired") { try await Self.signIn(other, in: fixture) } }
        #expect(try await fixture.count("web_sessions") == 1)
        try await fixture.web.sessions.end(cookie, by: fixture.call)
        try await expectFailure("webFlowExpired") { try await Self.signIn(form, in: fixture) }
        #expect(try await fixture.count("web_sessions") == 1)
    }

    @Test func `a session that is used on is opened by no form when its flow would have expired`() async throws {
        try await fixture.register(Self.email)
        let form = Self.reference(try await fixture.openAccountFlow(), in: fixture)
        let cookie = try await Self.signIn(form, in: fixture).cookie
        try await fixture.base.advance(by: 599)
        #expect(try await fixture.session(cookie) != nil)
        #expect(try await Self.signIn(form, in: fixture).cookie.text == cookie.text)
        try await fixture.base.advance(by: 1)
        try await expectFailure("webFlowExpired") { try await Self.signIn(form, in: fixture) }
        #expect(try await fixture.session(cookie) != nil)
    }

    @Test(arguments: Way.allCases)
    func `of several at once that sign in here each opens the one session`(way: Way) async throws {
        let flow = try await fixture.openAccountFlow()
        let send = try await lastForm(of: way, in: flow)
        let cookies = try await concurrently(0..<4) { _ in try await send().cookie.text }
        #expect(Set(cookies).count == 1)
        let last = try await send().cookie
        #expect(last.text == cookies.first)
        #expect(try await fixture.session(last) != nil)
        #expect(try await fixture.count("web_sessions") == 1)
        #expect(try await fixture.status(flow) == "spent")
    }

    @Test(.noFixture(WebFixture.self)) func `what was typed can't be guessed by other forms without end`() async throws
    {
        try await WebFixture.run {
            $0.limits = [.guessPerNetwork: .limit(count: 2, seconds: 900)]
        } _: { fixture in
            try await fixture.register(Self.email)
            let flow = try await fixture.open()
            let form = Self.reference(flow, in: fixture)
            let network: Network = "192.0.2.0/24"
            let answer = try await Self.signIn(form, in: fixture, from: network).appReturn
            // The right one is not counted.
            for _ in 0..<3 { #expect(try await Self.signIn(form, in: fixture, from: network).appReturn == answer) }
            for guess in ["a", "b"] {
                try await expectFailure("webFlowExpired") {
                    try await Self.signIn(Self.reference(flow, posting: guess, in: fixture), in: fixture, from: network)
                }
            }
            try await expectFailure("rateLimited") { try await Self.signIn(form, in: fixture, from: network) }
        }
    }

    @Test(.noFixture(WebFixture.self)) func `a code is found again under the line of the key ring that made it`() throws
    {
        func ring(_ lines: (id: String, octet: UInt8)...) throws -> WebCodes {
            WebCodes(for: .app, keyRing: try SignInFixture.makeKeyRing(lines: lines))
        }
        let id = WebFlowID(now: Timestamp(seconds: 1_767_225_600))
        let browser = try BrowserSecret.fresh()
        let reference = FlowReference(id: id, browser: browser, input: Array("form".utf8))
        let code = try ring(("k1", 7)).code(in: reference)
        let isIt: (OpaqueSecret) -> Bool = { $0.text == code.text }
        let rotated = try ring(("k2", 8), ("k1", 7))
        #expect(try rotated.code(in: reference, where: isIt)?.text == code.text)
        #expect(try rotated.code(in: reference).text != code.text)
        #expect(try ring(("k2", 8)).code(in: reference, where: isIt) == nil)
        let another = FlowReference(id: id, browser: browser, input: Array("form ".utf8))
        #expect(try rotated.code(in: another, where: isIt) == nil)
        // A client's is another one, and so is the cookie of each session.
        let (first, second) = (SessionID(now: Timestamp(seconds: 0)), SessionID(now: Timestamp(seconds: 0)))
        let recipients: [WebCodes.Recipient] = [.app, .client, .browser(first), .browser(second)]
        let texts = try recipients.map { try rotated.sent(to: $0).code(in: reference).text }
        #expect(Set(texts).count == 4)
    }
}
