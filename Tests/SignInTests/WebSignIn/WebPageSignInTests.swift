import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Signing in to an app by a password or a mailed code on our own page: proven there, decided by the exchange.
@Suite(.fixture(WebFixture.self)) struct WebPageSignInTests {
    var fixture: WebFixture { .current }

    private static let email = "lee@example.com"

    /// Has a code mailed on the page, and reads it.
    private func mailedCode(_ flow: WebFlow) async throws -> String {
        try await fixture.web.mailCode(to: Self.email, in: fixture.reference(flow), by: fixture.call)
        let code = try await MailedCode.read(
            .signIn, to: Self.email, at: fixture.clock.now(), from: fixture.database, keyRing: fixture.base.keyRing)
        return try #require(code).digits
    }

    private func signIn(_ flow: WebFlow, code: String) async throws -> WebStep {
        try await fixture.web.emailCode(email: Self.email, code: code, in: fixture.reference(flow), by: fixture.call)
    }

    @Test func `a password signs in by the exchange, as of when it was typed`() async throws {
        let account = try await fixture.register(Self.email)
        let flow = try await fixture.open()
        let code = try await fixture.enter(Self.email, in: flow).code
        #expect(try await fixture.count("sessions") == 1)
        let typedAt = fixture.clock.now()
        try await fixture.base.advance(by: 30)
        let signedIn = try await fixture.exchange(code).session
        let session = try await fixture.base.opened(signedIn)
        #expect(session.accountID == account.account.id && session.methods == [.password])
        #expect(session.authenticatedAt == typedAt)
    }

    @Test(
        .web {
            $0.limits = [
                .passwordPerAccount: .limit(count: 2, seconds: 900),
                .guessPerNetwork: .limit(count: 100, seconds: 900),
            ]
        })
    func `a wrong password leaves the flow as it was, and is limited as everywhere`() async throws {
        try await fixture.register(Self.email)
        let flow = try await fixture.open()
        for _ in 0..<2 {
            try await expectFailure("invalidCredentials") {
                try await fixture.enter(Self.email, password: "not the right one", in: flow)
            }
        }
        try await expectFailure("rateLimited") { try await fixture.enter(Self.email, in: flow) }
        #expect(try await fixture.status(flow) == "new")
        #expect(!(try await fixture.sign(in: flow, at: .apple).appReturn.isError))
    }

    @Test func `a password that has changed since is refused by the exchange`() async throws {
        let account = try await fixture.register(Self.email)
        let code = try await fixture.enter(Self.email, in: try await fixture.open()).code
        try await fixture.database.execute(
            "UPDATE accounts SET password_hash = 'another' WHERE account_id = \(account.account.id)")
        await expectFailure(.webCodeRejected) { try await fixture.exchange(code) }
        #expect(try await fixture.refusals() == ["web_proof_changed"])
    }

    @Test func `a password from before the account was signed out everywhere is refused by the exchange`() async throws
    {
        let account = try await fixture.register(Self.email)
        let code = try await fixture.enter(Self.email, in: try await fixture.open()).code
        try await fixture.base.advance(by: 1)
        try await fixture.service.sessions.revoke(.all, of: try await fixture.base.opened(account), by: fixture.call)
        await expectFailure(.webCodeRejected) { try await fixture.exchange(code) }
        #expect(try await fixture.refusals() == ["web_proof_changed"])
    }

    @Test func `a mailed code is spent by the exchange`() async throws {
        let account = try await fixture.register(Self.email)
        let flow = try await fixture.open()
        let digits = try await mailedCode(flow)
        try await expectFailure("invalidCredentials") { try await signIn(flow, code: SignInFixture.wrong(digits)) }
        let code = try await signIn(flow, code: digits).code
        #expect(try await fixture.count("mailed_codes") == 1)
        let session = try await fixture.base.opened(try await fixture.exchange(code).session)
        #expect(session.accountID == account.account.id && session.methods == [.oneTimeCode])
        #expect(try await fixture.count("mailed_codes") == 0)
    }

    @Test func `a code that is mailed near the end of the flow is good for as long as any other`() async throws {
        try await fixture.register(Self.email)
        let flow = try await fixture.open()
        fixture.clock.advance(by: 540)
        let digits = try await mailedCode(flow)
        fixture.clock.advance(by: 599)
        _ = try await signIn(flow, code: digits).code
    }

    @Test func `codes prolong a flow, to an hour at most`() async throws {
        let flow = try await fixture.open()
        for _ in 0..<6 {
            fixture.clock.advance(by: 540)
            try await fixture.web.mailCode(to: Self.email, in: fixture.reference(flow), by: fixture.call)
        }
        fixture.clock.advance(by: 359)
        _ = try await fixture.page(flow)
        fixture.clock.advance(by: 1)
        try await expectFailure("webFlowExpired") { try await fixture.page(flow) }
    }

    @Test func `a mailed code that was used since is refused by the exchange`() async throws {
        try await fixture.register(Self.email)
        let flow = try await fixture.open()
        let digits = try await mailedCode(flow)
        let code = try await signIn(flow, code: digits).code
        _ = try await fixture.service.emailCodes.signIn(email: Self.email, code: digits, by: fixture.call)
        await expectFailure(.webCodeRejected) { try await fixture.exchange(code) }
    }

    @Test(
        .web {
            $0.web?.offersPassword = false
            $0.web?.offersEmailCode = false
        })
    func `codes and passwords are refused where they are not offered`() async throws {
        try await fixture.register(Self.email)
        let flow = try await fixture.open()
        try await expectFailure("memberNotAllowed") { try await fixture.enter(Self.email, in: flow) }
        await expectFailure(.mailUnavailable) { try await mailedCode(flow) }
    }

    @Test func `of two ways to finish one flow the first counts`() async throws {
        try await fixture.register(Self.email)
        let flow = try await fixture.open()
        let answer = try await fixture.appleAnswer(flow)
        let code = try await fixture.enter(Self.email, in: flow).code
        try await expectFailure("webAnswerRefused") { try await fixture.hold(answer) }
        try await expectFailure("webFlowExpired") { try await fixture.enter(Self.email, in: flow) }
        try await expectFailure("webFlowExpired") { try await fixture.start(.google, flow) }
        // What the first end gave is still good.
        _ = try await fixture.exchange(code).session
    }

    @Test func `a flow that is given up is denied`() async throws {
        let flow = try await fixture.open(WebFixture.privateURI) { $0.uiLocales = ["fr"] }
        let seen = try await fixture.page(flow)
        #expect(seen.languages == ["fr"] && seen.providers == [.apple, .google])
        #expect(seen.formActionSources.last == "com.example.lamp:")
        guard case .app("Lamp", .privateScheme("com.example.lamp")) = seen.kind else { return #expect(Bool(false)) }
        let step = try await fixture.cancel(flow)
        #expect(try step.error == "access_denied")
        try await expectFailure("webFlowExpired") { try await fixture.cancel(flow) }
        try await expectFailure("webFlowExpired") { try await fixture.start(.apple, flow) }
    }

    @Test func `the hint is forgotten with the flow`() async throws {
        let flow = try await fixture.open { $0.loginHint = [Self.email] }
        #expect(try await fixture.page(flow).loginHint == Self.email)
        _ = try await fixture.sign(in: flow, at: .apple).code
        #expect(try await fixture.count("web_flows WHERE login_hint IS NOT NULL") == 0)
    }
}
