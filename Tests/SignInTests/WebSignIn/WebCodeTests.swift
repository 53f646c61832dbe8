import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The code that an app exchanges: for whom it is good, how often, how long, and what it decides.
@Suite(.fixture(WebFixture.self)) struct WebCodeTests {
    var fixture: WebFixture { .current }

    @Test(arguments: Provider.allCases)
    func `nothing is decided before the app exchanges its code`(provider: Provider) async throws {
        let account = try await fixture.base.account(provider)
        try await fixture.service.sessions.revoke(.all, of: try await fixture.base.opened(account), by: fixture.call)
        let before = try await fixture.count("audit_events WHERE type IN ('signed_in', 'link_required')")
        try await fixture.base.advance(by: 60)
        let code = try await fixture.code(provider)
        #expect(try await fixture.base.tables(holding: code) == [])
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 0)
        #expect(try await fixture.count("audit_events WHERE type IN ('signed_in', 'link_required')") == before)
        let device = Device(name: "Kim's tablet", platform: "android")
        let signedIn = try await fixture.web.exchange(
            code: code, codeVerifier: WebFixture.verifier, redirectURI: WebFixture.redirectURI,
            by: fixture.call(by: Caller(requestID: "exchange", address: "198.51.100.7", device: device))
        ).session
        #expect(signedIn.account.id == account.account.id)
        #expect(signedIn.identity?.key.provider == provider)
        let sessions = try await fixture.service.sessions.list(of: account.account.id, by: fixture.call)
        #expect(sessions.map(\.device) == [device] && sessions.map(\.address) == ["198.51.100.7"])
    }

    @Test(arguments: Provider.allCases)
    func `an unknown person gets a link ticket by the exchange`(provider: Provider) async throws {
        let code = try await fixture.code(provider)
        #expect(try await fixture.count("link_tickets") == 0)
        let ticket = try await fixture.exchange(code).ticket
        #expect(ticket.choices == [.create, .bind])
        let created = try await fixture.base.create(ticket)
        #expect(created.identity?.authorization == (provider == .apple ? .active : Identity.Authorization.none))
    }

    /// What an app presents that is not the one that opened the flow.
    enum Presenter: CaseIterable, Sendable {
        case anotherVerifier, theChallenge, noVerifier, shortVerifier, reservedCharacter
        case anotherRedirectURI, nearRedirectURI

        var verifier: String {
            switch self {
            case .anotherVerifier: String(WebFixture.verifier.reversed())
            case .theChallenge: WebFixture.challenge
            case .noVerifier: ""
            case .shortVerifier: String(WebFixture.verifier.dropLast())
            case .reservedCharacter: WebFixture.verifier + "+"
            case .anotherRedirectURI, .nearRedirectURI: WebFixture.verifier
            }
        }

        var redirectURI: String {
            switch self {
            case .anotherRedirectURI: WebFixture.privateURI
            case .nearRedirectURI: WebFixture.redirectURI + "/"
            default: WebFixture.redirectURI
            }
        }

        /// With which the app opened the flow: what is no verifier (RFC 7636 §4.1) is none for a challenge of its own either.
        var challenge: String {
            switch self {
            case .shortVerifier, .reservedCharacter: CodeChallenge.s256(of: verifier)
            default: WebFixture.challenge
            }
        }
    }

    @Test(arguments: Presenter.allCases)
    func `a code that comes wrongly is spent, and its grant is ended`(presenter: Presenter) async throws {
        let flow = try await fixture.open { $0.codeChallenge = [presenter.challenge] }
        let code = try await fixture.sign(in: flow, at: .apple).code
        await expectFailure(.webCodeRejected) {
            try await fixture.exchange(code, verifier: presenter.verifier, redirectURI: presenter.redirectURI)
        }
        #expect(try await fixture.base.audited(.revocationRequested) == ["service web_code_refused"])
        await expectFailure(.webCodeRejected) { try await fixture.exchange(code) }
        try await fixture.base.revokeDue()
        #expect(try await fixture.base.grants(.apple, clientID: WebFixture.servicesID).map(\.endedBy) == [.revoke])
        #expect(try await fixture.count("sessions") == 0)
        #expect(try await fixture.count("link_tickets") == 0)
        #expect(try await fixture.refusals() == ["web_code_unknown", "web_verifier_mismatch"])
    }

    @Test func `of fifty exchanges at once one succeeds`() async throws {
        let code = try await fixture.code()
        let answers = try await concurrently(0..<50) { _ in try? await fixture.exchange(code) }.compactMap { $0 }
        #expect(answers.count == 1)
        // Some of the others came after it, and have ended what it opened.
        let ticket = try #require(answers.first).ticket
        try await expectFailure("linkTicketExpired") { try await fixture.base.create(ticket) }
        #expect(try await fixture.base.audited(.webCodeReused) == ["person -"])
    }

    private static let lifetimes: [(String, Int64)] = [
        (WebFixture.redirectURI, 60), (WebFixture.loopbackURI, 60), (WebFixture.privateURI, 180),
    ]

    @Test(arguments: lifetimes)
    func `a code lives a minute, three for a private scheme`(redirectURI: String, seconds: Int64) async throws {
        let (good, late) = (
            try await fixture.code(.apple, to: redirectURI), try await fixture.code(.google, to: redirectURI)
        )
        try await fixture.base.advance(by: seconds - 1)
        #expect(try await fixture.exchange(good, redirectURI: redirectURI).ticket.identity != nil)
        try await fixture.base.advance(by: 1)
        await expectFailure(.webCodeRejected) { try await fixture.exchange(late, redirectURI: redirectURI) }
    }

    @Test func `a code at the end of its flow lives as long`() async throws {
        let answer = try await fixture.googleAnswer(try await fixture.open())
        try await fixture.base.advance(by: 599)
        let code = try await fixture.finish(answer).code
        try await fixture.base.advance(by: 59)
        #expect(try await fixture.exchange(code).ticket.identity != nil)
    }

    @Test func `a second use ends the session of the first`() async throws {
        let account = try await fixture.base.account(.apple)
        let code = try await fixture.code()
        let signedIn = try await fixture.exchange(code).session
        // Whatever comes with it.
        await expectFailure(.webCodeRejected) { try await fixture.exchange(code, verifier: "") }
        await expectFailure(.invalidSession) { try await fixture.base.opened(signedIn) }
        #expect(try await fixture.base.opened(account).id == account.session.id)
        let ended = try await fixture.texts(
            """
            SELECT s.end_reason || ' ' || e.type
            FROM sessions s JOIN audit_events e ON e.session_id = s.session_id
            WHERE s.session_id = \(signedIn.session.id) AND e.type <> 'signed_in'
            """)
        #expect(ended == ["web_code_reused web_code_reused"])
        // A third finds nothing more to end.
        await expectFailure(.webCodeRejected) { try await fixture.exchange(code) }
        #expect(try await fixture.base.audited(.webCodeReused).count == 1)
    }

    @Test func `a second use ends the ticket of the first, with its grant`() async throws {
        let code = try await fixture.code()
        let ticket = try await fixture.exchange(code).ticket
        await expectFailure(.webCodeRejected) { try await fixture.exchange(code) }
        try await expectFailure("linkTicketExpired") { try await fixture.base.create(ticket) }
        try await fixture.base.revokeDue()
        #expect(try await fixture.base.grants(.apple, clientID: WebFixture.servicesID).map(\.endedBy) == [.revoke])
    }

    @Test func `a second use ends the session that the first one's ticket has opened by then, and no other`()
        async throws
    {
        let code = try await fixture.code()
        let created = try await fixture.base.create(try await fixture.exchange(code).ticket)
        try await fixture.base.advance(by: 1)
        let later = try await fixture.exchange(try await fixture.code()).session
        await expectFailure(.webCodeRejected) { try await fixture.exchange(code) }
        await expectFailure(.invalidSession) { try await fixture.base.opened(created) }
        #expect(try await fixture.base.opened(later).id == later.session.id)
        let recorded = try await fixture.texts(
            """
            SELECT s.end_reason
            FROM sessions s JOIN audit_events e USING (session_id, account_id)
            WHERE s.session_id = \(created.session.id) AND e.type = 'web_code_reused'
            """)
        #expect(recorded == ["web_code_reused"])
    }

    @Test func `a code that is none of ours is refused`() async throws {
        for code in ["", "code", String(repeating: "A", count: 43), String(repeating: "A", count: 64)] {
            await expectFailure(.webCodeRejected) { try await fixture.exchange(code) }
        }
        let refusals = try await fixture.refusals()
        #expect(Set(refusals) == ["web_code_unknown"])
    }

    @Test func `an account that is disabled by then is refused as ever`() async throws {
        let account = try await fixture.base.account(.apple)
        let code = try await fixture.code()
        try await fixture.disable(account)
        await expectFailure(.accountDisabled) { try await fixture.exchange(code) }
        await expectFailure(.webCodeRejected) { try await fixture.exchange(code) }
    }

    @Test func `a person who has signed out everywhere since is refused`() async throws {
        let account = try await fixture.base.account(.apple)
        let code = try await fixture.code()
        try await fixture.base.advance(by: 1)
        try await fixture.service.sessions.revoke(.all, of: try await fixture.base.opened(account), by: fixture.call)
        try await expectFailure("expired") { try await fixture.exchange(code) }
    }

    @Test func `a code from before its authorization was revoked brings nothing back`() async throws {
        let identity = try #require(try await fixture.base.account(.apple).identity)
        let code = try await fixture.code()
        try await fixture.base.advance(by: 5)
        _ = try await fixture.base.storage.accounts.revoke(
            identity.id, unlinking: true, recording: AuditEvent(.revocationRequested, by: .administrator),
            by: fixture.call)
        try await fixture.base.revokeDue()
        try await expectFailure("expired") { try await fixture.exchange(code) }
        #expect(try await fixture.base.authorization(identity) == "revoked")
        #expect(try await fixture.count("provider_grants") == 0)
    }

    // MARK: Codes that nobody exchanges

    @Test func `the grant of a code that no app exchanged is revoked`() async throws {
        _ = try await fixture.code()
        try await fixture.base.advance(by: 59)
        _ = try await fixture.base.sweeper.sweep()
        #expect(try await fixture.base.audited(.revocationRequested) == [])
        try await fixture.base.advance(by: 1)
        _ = try await fixture.base.sweeper.sweep()
        #expect(try await fixture.base.audited(.revocationRequested) == ["service web_code_expired"])
        try await fixture.base.revokeDue()
        #expect(try await fixture.base.grants(.apple, clientID: WebFixture.servicesID).map(\.endedBy) == [.revoke])
        #expect(try await fixture.count("web_flows WHERE sealed_person IS NULL") == 1)
    }

    @Test func `it is erased where the person has an identity`() async throws {
        let account = try await fixture.base.account(.apple)
        _ = try await fixture.code()
        try await fixture.base.advance(by: 60)
        _ = try await fixture.base.sweeper.sweep()
        #expect(try await fixture.base.audited(.revocationRequested) == [])
        try await fixture.base.revokeDue()
        #expect(try await fixture.base.grants(.apple, clientID: WebFixture.servicesID).map(\.isLive) == [true])
        #expect(try await fixture.base.authorization(account.identity) == "active")
    }

    @Test func `flows that are over are deleted after an hour`() async throws {
        _ = try await fixture.exchange(try await fixture.code())
        _ = try await fixture.code(.google)
        _ = try await fixture.open()
        try await fixture.base.advance(by: 600 + 3_600)
        _ = try await fixture.base.sweeper.sweep()
        #expect(try await fixture.count("web_flows") == 3)
        try await fixture.base.advance(by: 1)
        _ = try await fixture.base.sweeper.sweep()
        #expect(try await fixture.count("web_flows") == 0)
    }
}
