import Accounts
import Administration
import OAuthServer
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// A consent to a client of the OAuth server that the browser sends more than once.
@Suite struct ConsentFormTests {
    /// A person who is signed in, and a client that asks for their consent.
    private struct Asking: Sendable {
        static let redirectURI = "https://lamps.example.com/linked"

        let fixture: WebFixture
        let client: OAuthClient
        let account: AccountID
        let session: Session?
        let server: OAuthServer

        static func run(_ limits: [LimitKind: RateLimit] = [:], _ body: (Asking) async throws -> Void) async throws {
            try await WebFixture.run {
                $0.limits = limits
            } _: { fixture in
                try await body(try await Asking(fixture))
            }
        }

        private init(_ fixture: WebFixture) async throws {
            let clients = OAuthAdministration(database: fixture.database, scopes: { OAuthScopes([.profile, .email]) })
            let created = try await clients.create(
                named: "Lamps", redirectURIs: [Self.redirectURI].compactMap(OAuthRedirectURI.init(registering:)),
                by: fixture.call)
            let session = try await fixture.opened(try await fixture.register("lee@example.com"))
            self.init(
                fixture, created.record.client, account: session.accountID, session: session,
                server: Self.server(of: fixture, on: fixture.storage))
        }

        private init(
            _ fixture: WebFixture, _ client: OAuthClient, account: AccountID, session: Session?, server: OAuthServer
        ) {
            self.fixture = fixture
            self.client = client
            self.account = account
            self.session = session
            self.server = server
        }

        private static func server(of fixture: WebFixture, on storage: ServiceDatabase) -> OAuthServer {
            OAuthServer(
                configuration: .init(issuer: WebFixture.publicURL, publicURL: WebFixture.publicURL, codeLifetime: 60),
                signIn: fixture.service, database: storage, google: nil,
                clients: OAuthClients(store: storage.oauthClients), metrics: OAuthMetrics(), logger: .silent)
        }

        /// The same browser with another session, or none.
        func with(_ session: Session?) -> Asking {
            Asking(fixture, client, account: account, session: session, server: server)
        }

        /// Another process of the service, with this key ring.
        func with(keyRingLines lines: [(id: String, octet: UInt8)]) throws -> Asking {
            let storage = ServiceDatabase(fixture.database, keyRing: try SignInFixture.makeKeyRing(lines: lines))
            return Asking(
                fixture, client, account: account, session: session, server: Self.server(of: fixture, on: storage))
        }

        func open() async throws -> WebFlow {
            let parameters = [
                "client_id": client.id.text, "redirect_uri": Self.redirectURI, "state": "s", "response_type": "code",
                "scope": "profile",
            ]
            let query = OAuthQuery(isMalformed: false) { parameters[$0].map { [$0] } ?? [] }
            guard case .opened(let flow) = try await server.authorize(query, browser: fixture.browser, by: fixture.call)
            else { throw SignInFixture.Unexpected.succeeded }
            return flow
        }

        /// Where the browser is sent.
        ///
        /// - Parameters:
        ///   - isAllowed: what the person says.
        ///   - form: what the browser posts for it.
        @discardableResult
        func send(
            _ isAllowed: Bool = true, _ form: String = "form", in flow: WebFlow, _ browser: BrowserSecret? = nil,
            from network: Network? = nil
        ) async throws -> String {
            let decided = try await server.decide(
                isAllowed ? .allow(account) : .deny,
                in: FlowReference(id: flow.id, browser: browser ?? fixture.browser, input: Array(form.utf8)),
                session: session, by: fixture.call(by: fixture.base.caller(from: network)))
            guard case .redirect(let uri) = decided else { throw SignInFixture.Unexpected.succeeded }
            return uri
        }

        func redeem(_ uri: String) async throws -> TokenAnswer {
            let code = try #require(uri.firstMatch(of: /[?&]code=([\w-]{43})(&|$)/)).1.description
            #expect(try await fixture.base.tables(holding: code) == [])
            let request = TokenRequest([
                "grant_type": "authorization_code", "code": code, "redirect_uri": Self.redirectURI,
            ])
            return try await server.token(request, of: client, by: fixture.call)
        }
    }

    @Test func `the same form has the same answer until the client comes, and nothing else has it`() async throws {
        try await Asking.run { asking in
            let fixture = asking.fixture
            let flow = try await asking.open()
            let answer = try await asking.send(in: flow)
            #expect(try await asking.send(in: flow) == answer)
            let other = try await fixture.opened(try await fixture.register("ida@example.com"))
            let thief = try BrowserSecret.fresh()
            try await expectFailure("webFlowExpired") { try await asking.send(true, "another form", in: flow) }
            try await expectFailure("webFlowExpired") { try await asking.send(false, in: flow) }
            try await expectFailure("webFlowExpired") { try await asking.send(in: flow, thief) }
            try await expectFailure("webFlowExpired") { try await asking.with(nil).send(in: flow) }
            try await expectFailure("webFlowExpired") { try await asking.with(other).send(in: flow) }
            try await fixture.base.advance(by: 59)
            #expect(try await asking.send(in: flow) == answer)
            guard case .tokens = try await asking.redeem(answer) else { throw SignInFixture.Unexpected.succeeded }
            try await expectFailure("webFlowExpired") { try await asking.send(in: flow) }
            // Nothing of that was a second use of the code.
            #expect(try await fixture.count("oauth_chains") == 1)
            #expect(try await fixture.count("oauth_refresh_tokens") == 1)
        }
    }

    @Test func `a code that is over, or whose link has ended, is answered no more`() async throws {
        try await Asking.run { asking in
            let first = try await asking.open()
            try await asking.send(in: first)
            try await asking.fixture.base.advance(by: 60)
            try await expectFailure("webFlowExpired") { try await asking.send(in: first) }
            let second = try await asking.open()
            try await asking.send(in: second)
            let session = try #require(asking.session)
            #expect(try await asking.server.unlink(asking.client.id, of: session, by: asking.fixture.call))
            try await expectFailure("webFlowExpired") { try await asking.send(in: second) }
        }
    }

    @Test func `of several at once each has the answer, and one link is made and counted`() async throws {
        try await Asking.run([.linkPerAccount: .limit(count: 4, seconds: 86_400)]) { asking in
            let fixture = asking.fixture
            // Notices go to no address that is only claimed.
            try await fixture.database.execute("UPDATE accounts SET email_proof = 'proven', email_verified = true")
            let flow = try await asking.open()
            let answers = try await concurrently(0..<4) { _ in try await asking.send(in: flow) }
            #expect(Set(answers).count == 1)
            #expect(try await fixture.count("oauth_chains") == 1)
            #expect(try await fixture.count("oauth_codes") == 1)
            #expect(try await fixture.count("audit_events WHERE type = 'client_linked'") == 1)
            #expect(try await fixture.count("unstamped_events WHERE type = 'client.linked'") == 1)
            #expect(try await fixture.count("outbox WHERE template = 'client_linked'") == 1)
            for _ in 0..<3 { try await asking.send(in: try await asking.open()) }
            let beyond = try await asking.open()
            try await expectFailure("rateLimited") { try await asking.send(in: beyond) }
        }
    }

    @Test func `of consents that wait at once each has its own answer, until it is one too many`() async throws {
        try await Asking.run { asking in
            var flows: [WebFlow] = []
            var answers: [String] = []
            for _ in 0..<3 {
                let flow = try await asking.open()
                flows.append(flow)
                answers.append(try await asking.send(in: flow))
                asking.fixture.clock.advance(by: 1)
            }
            #expect(Set(answers).count == 3)
            for (flow, answer) in zip(flows, answers) { #expect(try await asking.send(in: flow) == answer) }
            try await asking.send(in: try await asking.open())
            let first = flows[0]
            try await expectFailure("webFlowExpired") { try await asking.send(in: first) }
            #expect(try await asking.send(in: flows[1]) == answers[1])
        }
    }

    @Test func `a refusal has the same answer while its flow would last, and stays one`() async throws {
        try await Asking.run { asking in
            let flow = try await asking.open()
            let answers = try await concurrently(0..<3) { _ in try await asking.send(false, in: flow) }
            let query = "error=access_denied&state=s&iss=https%3A%2F%2Fauth.example.com"
            #expect(Set(answers) == ["\(Asking.redirectURI)?\(query)"])
            try await expectFailure("webFlowExpired") { try await asking.send(in: flow) }
            #expect(try await asking.fixture.count("oauth_grants") == 0)
            try await asking.fixture.base.advance(by: Lifetimes.webFlowSeconds)
            try await expectFailure("webFlowExpired") { try await asking.send(false, in: flow) }
        }
    }

    @Test func `other forms count as guesses, while a code waits`() async throws {
        try await Asking.run([.guessPerNetwork: .limit(count: 2, seconds: 900)]) { asking in
            let network: Network = "192.0.2.0/24"
            let redeemed = try await asking.open()
            _ = try await asking.redeem(try await asking.send(in: redeemed, from: network))
            for _ in 0..<3 {
                try await expectFailure("webFlowExpired") { try await asking.send(in: redeemed, from: network) }
            }
            let flow = try await asking.open()
            let answer = try await asking.send(in: flow, from: network)
            for _ in 0..<3 { #expect(try await asking.send(in: flow, from: network) == answer) }
            for guess in ["a", "b"] {
                try await expectFailure("webFlowExpired") {
                    try await asking.send(true, guess, in: flow, from: network)
                }
            }
            try await expectFailure("rateLimited") { try await asking.send(in: flow, from: network) }
        }
    }

    @Test func `a process with another line of the key ring in front has the same answer`() async throws {
        try await Asking.run { asking in
            let flow = try await asking.open()
            let answer = try await asking.send(in: flow)
            #expect(try await asking.with(keyRingLines: [("k2", 8), ("k1", 7)]).send(in: flow) == answer)
            let foreign = try asking.with(keyRingLines: [("k2", 8)])
            try await expectFailure("webFlowExpired") { try await foreign.send(in: flow) }
        }
    }
}
