import Accounts
import Foundation
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The records of decisions: written with the decision, or not at all.
@Suite(.fixture(SignInFixture.self)) struct AuditTrailTests {
    var fixture: SignInFixture { .current }

    private static let client = Caller(
        requestID: "r1", address: "192.0.2.77", network: "192.0.2.0/24", device: Device(name: "Kim", platform: "ios"))

    private var call: Call { fixture.call(by: Self.client) }

    /// One line a row of a type: provider, reason, network, request, how often; an account, an identity and a session as
    /// A, I and S where they are named.
    private func rows(of type: String) async throws -> [String] {
        try await fixture.database.query(
            """
            SELECT concat_ws(' ', COALESCE(provider, '-'), COALESCE(reason, '-'), COALESCE(network, '-'),
                COALESCE(request_id, '-'), occurrences,
                CASE WHEN account_id IS NOT NULL THEN 'A' END, CASE WHEN identity_id IS NOT NULL THEN 'I' END,
                CASE WHEN session_id IS NOT NULL THEN 'S' END)
            FROM audit_events
            WHERE type = \(type) AND actor = 'person'
            ORDER BY transaction_id, reason, network
            """, as: String.self)
    }

    @Test func `each way in leaves one row that says how`() async throws {
        let kim = try await fixture.register("kim@example.com", by: Self.client)
        _ = try await fixture.signIn("kim@example.com", by: Self.client)
        let ticket = try await fixture.signIn(.apple, try fixture.apple("a-1"), by: Self.client).ticket
        _ = try await fixture.service.tickets.bind(
            linkTicket: ticket.linkTicket,
            credential: .password(email: "kim@example.com", password: SignInFixture.password), by: call)
        let signedIn = try await fixture.signIn(.apple, try fixture.apple("a-1"), by: Self.client).session
        let ways = [
            "- pwd 192.0.2.0/24 r1 1 A S", "- pwd 192.0.2.0/24 r1 1 A S", "- pwd apple 192.0.2.0/24 r1 1 A I S",
            "apple apple 192.0.2.0/24 r1 1 A I S",
        ]
        #expect(try await rows(of: "signed_in") == ways)
        #expect(try await rows(of: "account_created") == ["- - 192.0.2.0/24 r1 1 A"])
        #expect(try await rows(of: "link_required") == ["apple - 192.0.2.0/24 r1 1"])
        let matching: SQL = """
            audit_events e
            JOIN sessions s ON (s.session_id, s.account_id) = (e.session_id, e.account_id)
                AND s.identity_id IS NOT DISTINCT FROM e.identity_id
            WHERE e.type = 'signed_in'
            """
        #expect(try await fixture.count(matching) == 4)
        #expect(try await fixture.count("sessions") == 4)
        let last: SQL = "\(matching) AND e.session_id = \(signedIn.session.id) AND e.account_id = \(kim.account.id)"
        #expect(try await fixture.count("\(last) AND e.identity_id = \(signedIn.identity?.id)") == 1)
    }

    @Test func `a sign-in that can't be recorded is none`() async throws {
        _ = try await fixture.signUp(.apple("a-1"))
        try await fixture.register("kim@example.com", by: Self.client)
        try await fixture.database.execute("ALTER TABLE audit_events RENAME TO audit_events_away")
        let token = try fixture.apple("a-1")
        try await expectFailure("fault") { try await fixture.signIn(.apple, token, by: Self.client) }
        try await expectFailure("fault") { try await fixture.signIn("kim@example.com", by: Self.client) }
        #expect(try await fixture.count("sessions") == 2)
    }

    @Test func `many who sign in at once are recorded each with their own request`() async throws {
        var tokens: [String] = []
        for number in 0..<20 {
            tokens.append(try fixture.google("g-\(number)"))
            _ = try await fixture.create(try await fixture.ticket(.google, tokens[number]))
        }
        try await concurrently(tokens.enumerated()) { number, token in
            let client = Caller(requestID: "n\(number)", address: nil, network: "10.0.\(number).0/24", device: nil)
            _ = try await fixture.signIn(.google, token, by: client)
        }
        let own = try await fixture.count(
            """
            audit_events e
            JOIN identities i ON i.identity_id = e.identity_id
            WHERE e.type = 'signed_in' AND e.request_id = 'n' || substr(i.subject, 3)
                AND e.network = '10.0.' || substr(i.subject, 3) || '.0/24'
            """)
        #expect(own == 20)
    }

    @Test func `a proof that is right and opens nothing is recorded with whom it is about`() async throws {
        let created = try await fixture.signUp(.apple("a-1"))
        let token = try fixture.apple("a-1")
        try await fixture.database.execute(
            "UPDATE identities SET not_before = \(fixture.clock.now().advanced(bySeconds: 60))")
        try await expectFailure("expired") { try await fixture.signIn(.apple, token, by: Self.client) }
        try await fixture.database.execute("UPDATE identities SET not_before = NULL")
        fixture.clock.advance(by: 1)
        try await fixture.database.execute("UPDATE accounts SET status = 'disabled'")
        try await expectFailure("accountDisabled") { try await fixture.signIn(.apple, token, by: Self.client) }
        let rejected = ["apple expired 192.0.2.0/24 r1 1 A I", "apple account_disabled 192.0.2.0/24 r1 1 A I"]
        #expect(try await rows(of: "credential_rejected") == rejected)
        // Not once more by the aggregator.
        #expect(try await fixture.service.refusals.flush() == 0)
        let named: SQL = "audit_events WHERE account_id = \(created.account.id) AND session_id IS NULL"
        #expect(try await fixture.count(named) >= 2)
    }

    @Test func `signing out is recorded once, with its scope, if anything ended`() async throws {
        let kim = try await fixture.register("kim@example.com", by: Self.client)
        for _ in 0..<2 { _ = try await fixture.signIn("kim@example.com", by: Self.client) }
        let session = try await fixture.opened(kim)
        for scope in [RevocationScope.others, .others, .current, .current] {
            try await fixture.service.sessions.revoke(scope, of: session, by: call)
        }
        try await expectFailure("invalidSession") {
            try await fixture.service.sessions.revoke(.all, of: session, by: call)
        }
        let ended = ["- others 192.0.2.0/24 r1 1 A S", "- current 192.0.2.0/24 r1 1 A S"]
        #expect(try await rows(of: "signed_out") == ended)
    }

    @Test func `a refresh token that is used again is recorded with the session that it ends`() async throws {
        let kim = try await fixture.register("kim@example.com", by: Self.client)
        var token = kim.session.refreshToken
        for _ in 0..<2 {
            token = try await fixture.service.sessions.refresh(token, by: call).refreshToken
            fixture.clock.advance(by: 120)
        }
        for _ in 0..<2 { _ = try? await fixture.service.sessions.refresh(kim.session.refreshToken, by: call) }
        #expect(try await rows(of: "refresh_reused") == ["- - 192.0.2.0/24 r1 1 A S"])
    }

    @Test func `a new name is recorded, and not which`() async throws {
        let kim = try await fixture.register("kim@example.com", by: Self.client)
        let session = try await fixture.opened(kim)
        _ = try await fixture.service.accounts.rename(accountOf: session, to: DisplayName("Kim"), by: call)
        #expect(try await rows(of: "display_name_changed") == ["- - 192.0.2.0/24 r1 1 A"])
    }

    @Test func `a ticket that is given back is recorded once`() async throws {
        let ticket = try await fixture.ticket(.google("g-1"))
        for _ in 0..<2 { try await fixture.service.tickets.cancel(linkTicket: ticket.linkTicket, by: call) }
        #expect(try await rows(of: "link_cancelled") == ["google - 192.0.2.0/24 r1 1"])
    }
}
