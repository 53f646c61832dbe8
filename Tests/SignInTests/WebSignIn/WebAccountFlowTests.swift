import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Flows that end at our own page of the account: decided at once, and the ticket stays with the server.
@Suite(.fixture(WebFixture.self)) struct WebAccountFlowTests {
    var fixture: WebFixture { .current }

    @Test(arguments: Provider.allCases) func `a known person is signed in`(provider: Provider) async throws {
        let account = try await fixture.base.account(provider)
        let flow = try await fixture.openAccountFlow()
        let cookie = try await fixture.sign(in: flow, at: provider).cookie
        let session = try #require(try await fixture.session(cookie))
        #expect(session.accountID == account.account.id && session.isFresh(at: fixture.clock.now()))
        #expect(try await fixture.base.tables(holding: cookie.text) == [])
        #expect(try await fixture.status(flow) == "spent")
    }

    @Test func `a browser that is not used again leaves nothing a week after its session's end`() async throws {
        _ = try await fixture.register("lee@example.com")
        let ofApps = try await fixture.count("sessions")
        func enter() async throws {
            _ = try await fixture.enter("lee@example.com", in: try await fixture.openAccountFlow()).cookie
        }
        try await enter()
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        func left() async throws -> [Int64] {
            _ = try await sweeper.sweep()
            return [try await fixture.count("web_sessions"), try await fixture.count("sessions") - ofApps]
        }
        fixture.clock.advance(by: 7 * 86_400)
        try await enter()
        fixture.clock.advance(by: 600)
        #expect(try await left() == [2, 2])
        fixture.clock.advance(by: 1)
        #expect(try await left() == [1, 1])
        fixture.clock.advance(by: 7 * 86_400)
        #expect(try await left() == [0, 0])
    }

    @Test func `an unknown person creates an account`() async throws {
        let flow = try await fixture.openAccountFlow()
        let (page, link) = try await fixture.sign(in: flow, at: .apple).link
        #expect(page.status == .linking && link.choices == [.create, .bind])
        #expect(try await fixture.base.tables(holding: link.linkTicket) == [])
        // The same page once more.
        let again = try await fixture.page(flow)
        #expect(again.link?.choices == [.create, .bind] && again.link?.linkTicket == link.linkTicket)
        let foreign = FlowReference(id: flow.id, browser: try .fresh())
        try await expectFailure("webFlowExpired") {
            try await fixture.web.create(in: foreign, displayName: nil, by: fixture.call)
        }
        let step = try await fixture.create(in: flow, DisplayName("Kim"))
        let session = try #require(try await fixture.session(try step.cookie))
        let account = try #require(try await fixture.storage.accounts.account(session.accountID))
        #expect(account.displayName?.text == "Kim" && account.identities.map(\.authorization) == [.active])
        try await expectFailure("webFlowExpired") { try await fixture.create(in: flow) }
    }

    @Test func `a person who binds by a mailed code sees first who is in a stated account`() async throws {
        // Apple's word alone gave the account its address.
        let account = try await fixture.base.account(.apple)
        #expect(account.account.email?.text == "kim@example.com")
        let flow = try await fixture.openAccountFlow()
        let (_, first) = try await fixture.sign(in: flow, at: .google).link
        #expect(first.choices == [.bind, .create])
        try await fixture.web.mailBindCode(to: "kim@example.com", in: fixture.reference(flow), by: fixture.call)
        let mailed = try await MailedCode.read(
            .bind, to: "kim@example.com", linkTicket: first.linkTicket, at: fixture.clock.now(),
            from: fixture.database, keyRing: fixture.base.keyRing)
        let credential = BindCredential.emailCode(email: "kim@example.com", code: try #require(mailed).digits)
        let asked = try await fixture.bind(in: flow, credential)
        // The code was right: what is left is whether the account is theirs.
        guard case .confirm(let shown) = asked else { throw SignInFixture.Unexpected.signedIn }
        #expect(shown.link?.holder?.showsIdentities == true)
        // What was shown is shown again.
        let again = try await fixture.page(flow)
        #expect(again.link?.holder?.showsIdentities == true)
        #expect(again.link?.holder?.account.id == account.account.id)
        // The form that comes twice is no answer to the question.
        guard case .confirm = try await fixture.bind(in: flow, credential) else {
            throw SignInFixture.Unexpected.signedIn
        }
        let step = try await fixture.bind(in: flow, .ticket)
        #expect(try await fixture.session(try step.cookie)?.accountID == account.account.id)
    }

    @Test func `a page from before the ticket sends nobody to a provider who is on the way to a proof`() async throws {
        _ = try await fixture.base.account(.apple)
        let flow = try await fixture.openAccountFlow()
        _ = try await fixture.sign(in: flow, at: .google).link
        let url = try await fixture.web.startProof(by: .apple, in: fixture.reference(flow), by: fixture.call)
        try await expectFailure("webFlowExpired") { try await fixture.start(.apple, flow) }
        // That way leads on.
        let step = try await fixture.finish(try await fixture.appleAnswer(at: url))
        #expect(try await fixture.session(try step.cookie) != nil)
    }

    @Test func `an identity that is moved while it proves the account that was shown binds to none`() async throws {
        // Apple's word alone gave the account its address.
        _ = try await fixture.base.account(.apple)
        let other = try await fixture.register("lee@example.com").account.id
        let sessions = try await fixture.count("sessions WHERE ended_at IS NULL")
        let flow = try await fixture.openAccountFlow()
        #expect(try await fixture.sign(in: flow, at: .google).link.required.provers == [.apple])
        let url = try await fixture.web.startProof(by: .apple, in: fixture.reference(flow), by: fixture.call)
        let answer = try await fixture.appleAnswer(at: url)
        let proving = try await fixture.interleave { transaction in
            try await transaction.execute("UPDATE identities SET account_id = \(other) WHERE provider = 'apple'")
        } with: {
            try await fixture.finish(answer)
        }
        guard case .unproven(let page, .refused(.invalidCredentials)) = try await proving.value else {
            return #expect(Bool(false))
        }
        #expect(page.status == .linking)
        #expect(try await fixture.count("identities WHERE provider = 'google'") == 0)
        // That of the proof has ended.
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == sessions)
        #expect(try await fixture.count("web_sessions") == 0)
    }

    @Test func `a person who gives the link up chooses once more`() async throws {
        let flow = try await fixture.openAccountFlow()
        let (_, link) = try await fixture.sign(in: flow, at: .apple).link
        let step = try await fixture.web.cancelLink(in: fixture.reference(flow), by: fixture.call)
        guard case .choose(let page, _) = step else { return #expect(Bool(false)) }
        #expect(page.status == .new && page.link == nil)
        try await expectFailure("linkTicketExpired") { try await fixture.base.create(link) }
        try await expectFailure("webFlowExpired") { try await fixture.create(in: flow) }
        #expect(try await fixture.count("accounts") == 0)
        #expect(try await fixture.base.audited(.linkCancelled) == ["person -"])
        try await fixture.base.revokeDue()
        #expect(try await fixture.base.grants(.apple, clientID: WebFixture.servicesID).map(\.isLive) == [false])
        _ = try await fixture.sign(in: page, at: .google).link
    }

    @Test(arguments: Provider.allCases)
    func `a person whose account is disabled chooses once more`(provider: Provider) async throws {
        let account = try await fixture.base.account(provider)
        try await fixture.disable(account)
        let flow = try await fixture.openAccountFlow()
        let step = try await fixture.sign(in: flow, at: provider)
        guard case .choose(let page, .refused(.accountDisabled)?) = step else { return #expect(Bool(false)) }
        #expect(page.status == .new && page.link == nil)
        #expect(try await fixture.status(flow) == "new")
        _ = try await fixture.sign(in: page, at: provider, "ada").link
    }

    // MARK: Sessions of browsers

    /// A browser session of a new account.
    private static func session(in fixture: WebFixture) async throws -> (account: SignedIn, cookie: WebSessionSecret) {
        let account = try await fixture.base.account(.apple)
        let cookie = try await fixture.sign(in: try await fixture.openAccountFlow(), at: .apple).cookie
        return (account, cookie)
    }

    @Test func `a browser session ends ten minutes after its last use`() async throws {
        let (_, cookie) = try await Self.session(in: fixture)
        for _ in 0..<3 {
            try await fixture.base.advance(by: 599)
            #expect(try await fixture.session(cookie) != nil)
        }
        try await fixture.base.advance(by: 600)
        #expect(try await fixture.session(cookie) == nil)
        let unknown = try WebSessionSecret.fresh()
        #expect(try await fixture.session(unknown) == nil)
        #expect(try await fixture.session(nil) == nil)
    }

    @Test(.web { $0.sessionLifetime = 900 })
    func `it outlives no session lifetime`() async throws {
        let (_, cookie) = try await Self.session(in: fixture)
        try await fixture.base.advance(by: 599)
        #expect(try await fixture.session(cookie) != nil)
        try await fixture.base.advance(by: 301)
        #expect(try await fixture.session(cookie) == nil)
    }

    /// What ends sessions.
    enum Ending: CaseIterable, Sendable { case signOut, everywhere, disable, delete }

    @Test(arguments: Ending.allCases) func `it ends as any other session does`(ending: Ending) async throws {
        let (account, cookie) = try await Self.session(in: fixture)
        let other = try await fixture.sign(in: try await fixture.openAccountFlow(), at: .apple).cookie
        switch ending {
        case .signOut: try await fixture.web.sessions.end(cookie, by: fixture.call)
        case .everywhere:
            try await fixture.service.sessions.revoke(
                .all, of: try await fixture.base.opened(account), by: fixture.call)
        case .disable:
            try await fixture.disable(account)
        case .delete: try await fixture.base.deleteAccount(account)
        }
        #expect(try await fixture.session(cookie) == nil)
        #expect((try await fixture.session(other) != nil) == (ending == .signOut))
    }

    // MARK: Linking another identity

    /// Sends the browser of a session to Google: where it is sent, and the flow by which it comes back.
    private func startLinking(_ cookie: WebSessionSecret) async throws -> (url: String, flow: FlowReference) {
        let session = try #require(try await fixture.session(cookie))
        let url = try await fixture.web.startLinking(
            .google, to: session, browser: fixture.browser, languages: [], by: fixture.call)
        let flows = try await fixture.database.query(
            "SELECT flow_id FROM web_flows WHERE sealed_errand IS NOT NULL", as: WebFlowID.self)
        return (url, FlowReference(id: try #require(flows.first), browser: fixture.browser))
    }

    @Test(arguments: [AuthenticationMethod.password, .oneTimeCode])
    func `a flow that is to link an identity signs nobody in`(method: AuthenticationMethod) async throws {
        let (_, cookie) = try await Self.session(in: fixture)
        try await fixture.register("lee@example.com")
        let flow = try await startLinking(cookie).flow
        let sessions = try await fixture.count("sessions")
        if method == .password {
            try await expectFailure("webFlowExpired") {
                try await fixture.web.password(
                    email: "lee@example.com", password: SignInFixture.password, in: flow, by: fixture.call)
            }
        } else {
            try await fixture.web.mailCode(to: "lee@example.com", in: flow, by: fixture.call)
            let code = try await fixture.mailedCode(.signIn, to: "lee@example.com")
            try await expectFailure("webFlowExpired") {
                try await fixture.web.emailCode(email: "lee@example.com", code: code, in: flow, by: fixture.call)
            }
        }
        #expect(try await fixture.count("sessions") == sessions)
        #expect(try await fixture.count("web_sessions") == 1)
    }

    @Test func `what comes by the state of an answer that was linked leads to the account, and claims nothing`()
        async throws
    {
        let (_, cookie) = try await Self.session(in: fixture)
        let answer = try await fixture.googleAnswer(at: try await startLinking(cookie).url)
        guard case .linked(.google?, _) = try await fixture.finish(answer) else { return #expect(Bool(false)) }
        let other = GoogleAnswer(state: answer.state, code: "4/0Aother", issuer: answer.issuer, error: nil)
        for late in [other, answer] {
            guard case .linked(nil, _) = try await fixture.finish(late) else { return #expect(Bool(false)) }
        }
        #expect(try await fixture.exchanges(at: .google).count == 1)
        #expect(try await fixture.count("identities WHERE provider = 'google'") == 1)
    }

    @Test func `an account that is disabled meanwhile gets neither the identity nor a ticket for it`() async throws {
        let (account, cookie) = try await Self.session(in: fixture)
        let answer = try await fixture.googleAnswer(at: try await startLinking(cookie).url)
        let tickets = try await fixture.count("link_tickets")
        try await fixture.disable(account)
        guard case .notLinked(.invalidSession?, _) = try await fixture.finish(answer) else {
            return #expect(Bool(false))
        }
        #expect(try await fixture.count("identities WHERE provider = 'google'") == 0)
        #expect(try await fixture.count("link_tickets") == tickets)
    }
}
