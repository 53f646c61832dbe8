import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The check with Apple, about once a day, whether a person's authorization still holds.
@Suite(.fixture(LifeCycleFixture.self), .timeLimit(.minutes(15))) struct GrantCheckTests {
    var fixture: LifeCycleFixture { .current }

    private static let day = GrantCheckWorker.interval

    /// Advances the clock until each grant is due, and checks them.
    ///
    /// - Returns: the number of grants that were due.
    private func pass(_ days: Int64 = 2) async throws -> Int {
        try await fixture.advance(by: days * Self.day)
        return try await fixture.checks.checkDue()
    }

    /// Takes the check of the one grant, two days on.
    private func takeCheck() async throws -> (check: GrantCheck, now: Timestamp) {
        let now = fixture.clock.now().advanced(bySeconds: 2 * Self.day)
        let taken = try await fixture.storage.grants.takeChecks(
            by: .at(now), next: now.advanced(bySeconds: Self.day), limit: 8)
        return (try #require(taken.work.first), now)
    }

    private static let invalidRequest = Sandbox.Fault.status(400, body: #"{"error":"invalid_request"}"#)

    // MARK: When

    @Test func `a grant is asked about once a day, and never sooner`() async throws {
        _ = try await fixture.account(.apple)
        var hoursOfChecks: [Int] = []
        for hour in 1...(6 * 24) {
            try await fixture.advance(by: 3600)
            if try await fixture.checks.checkDue() > 0 { hoursOfChecks.append(hour) }
        }
        let first = try #require(hoursOfChecks.first)
        #expect((24...48).contains(first))
        #expect(zip(hoursOfChecks.dropFirst(), hoursOfChecks).allSatisfy { (24...25).contains($0 - $1) })
        let grant = try #require(try await fixture.grants(.apple).first)
        #expect(grant.checks == Int64(hoursOfChecks.count))
        #expect(grant.hastyChecks == 0)
        #expect((4...6).contains(hoursOfChecks.count))
    }

    @Test func `the first checks of what came together are spread over a day`() async throws {
        for _ in 1...30 { _ = try await fixture.ticket(try await fixture.consent(.apple)) }
        let hours = try await fixture.database.query(
            "SELECT extract(epoch FROM check_at - created_at)::bigint / 3600 FROM provider_grants", as: Int64.self)
        #expect(hours.allSatisfy { (24..<48).contains($0) })
        // Thirty at random in a day leave no half of it empty, but once in 500 million times.
        #expect(hours.contains { $0 < 36 } && hours.contains { $0 >= 36 })
    }

    @Test func `a round is bounded, and what is left comes with the next`() async throws {
        for number in 1...22 {
            try await fixture.sandbox.addApplePerson("person-\(number)")
            _ = try await fixture.account(.apple, "person-\(number)")
        }
        #expect(try await pass() == 20)
        #expect(try await fixture.checks.checkDue() == 2)
        #expect(try await fixture.checks.checkDue() == 0)
        let grants = try await fixture.sandbox.authorizations(.apple).flatMap(\.grants)
        #expect(grants.allSatisfy { $0.checks == 1 })
    }

    @Test func `a check says since when it is due, however late it comes`() async throws {
        _ = try await fixture.account(.apple)
        let due = try await fixture.database.query("SELECT check_at FROM provider_grants", as: Timestamp.self)
        let check = try await takeCheck().check
        #expect(due == [check.dueAt])
    }

    @Test func `of two processes one asks`() async throws {
        for number in 1...15 {
            try await fixture.sandbox.addApplePerson("person-\(number)")
            _ = try await fixture.account(.apple, "person-\(number)")
        }
        try await fixture.advance(by: 2 * Self.day)
        try await fixture.sandbox.fail("/apple/auth/token", .delay(milliseconds: 100))
        let shares = try await concurrently(1...4) { _ in try await fixture.checks.checkDue() }
        #expect(shares.reduce(0, +) == 15)
        let grants = try await fixture.sandbox.authorizations(.apple).flatMap(\.grants)
        #expect(grants.count == 15)
        #expect(grants.allSatisfy { $0.checks == 1 })
    }

    @Test func `Google is not asked daily, nor about what a revocation holds`() async throws {
        _ = try await fixture.account(.google)
        try await fixture.deleteAccount(try await fixture.account(.apple, "ada"))
        #expect(try await pass(30) == 0)
        #expect(try await fixture.grants(.google).map(\.checks) == [0])
        #expect(try await fixture.grants(.apple, "ada").map(\.checks) == [0])
    }

    // MARK: What an answer means

    @Test func `a person who withdrew is signed out of what the identity opened`() async throws {
        let registered = try await fixture.register("kim@local.example")
        let bound = try await fixture.bind(try await fixture.ticket(try await fixture.consent(.apple)), to: registered)
        let later = try await fixture.session(try await fixture.consent(.apple), .token)
        try await fixture.withdraw(.apple)
        #expect(try await pass() == 1)

        #expect(try await fixture.authorization(bound.identity) == "revoked")
        #expect(
            try await fixture.texts("SELECT DISTINCT end_reason FROM sessions WHERE identity_id IS NOT NULL")
                == ["authorization_revoked"])
        for signedIn in [bound, later] {
            try await expectFailure("invalidRefreshToken") { try await fixture.refresh(signedIn.session.refreshToken) }
        }
        // The one that the password opened goes on.
        _ = try await fixture.refresh(registered.session.refreshToken)
        #expect(try await fixture.audited(.authorizationRevoked) == ["provider invalid_grant"])
        #expect(try await fixture.count("provider_grants") == 0)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await pass() == 0)

        let again = try await fixture.session(try await fixture.consent(.apple))
        #expect(again.account.id == registered.account.id)
        #expect(again.identity?.authorization == .active)
    }

    @Test func `an invalid_request counts when it comes the second time`() async throws {
        let account = try await fixture.account(.apple)
        try await fixture.sandbox.fail("/apple/auth/token", Self.invalidRequest)
        #expect(try await pass() == 1)
        #expect(try await fixture.authorization(account.identity) == "active")
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
        // Not asked again on the same day.
        try await fixture.advance(by: Self.day - 1)
        #expect(try await fixture.checks.checkDue() == 0)
        try await fixture.advance(by: 601)
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(account.identity) == "revoked")
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 0)
        #expect(try await fixture.audited(.authorizationRevoked) == ["provider invalid_request"])
    }

    @Test func `a good answer in between takes the doubt away, and so does a new grant`() async throws {
        let account = try await fixture.account(.apple)
        for isNew in [false, true] {
            try await fixture.sandbox.fail("/apple/auth/token", Self.invalidRequest, times: 1)
            #expect(try await pass() == 1)
            #expect(try await fixture.count("provider_grants WHERE doubted_at IS NOT NULL") == 1)
            if isNew {
                _ = try await fixture.session(try await fixture.consent(.apple))
            } else {
                #expect(try await pass() == 1)
            }
            #expect(try await fixture.count("provider_grants WHERE doubted_at IS NOT NULL") == 0)
        }
        try await fixture.sandbox.fail("/apple/auth/token", Self.invalidRequest, times: 1)
        #expect(try await pass() == 1)
        #expect(try await fixture.authorization(account.identity) == "active")
    }

    @Test(arguments: [
        Sandbox.Fault.status(500), .status(429), .html, .reset, .status(400, body: #"{"error":"invalid_client"}"#),
        .status(400, body: #"{"error":"admin_policy_enforced"}"#),
        .status(401, body: #"{"error":"unauthorized_client"}"#), .status(400, body: #"{"error":"no_such_error"}"#),
    ])
    func `an outage, or a fault of ours, changes nothing`(fault: Sandbox.Fault) async throws {
        let account = try await fixture.account(.apple)
        try await fixture.sandbox.fail("/apple/auth/token", fault)
        for _ in 1...3 { #expect(try await pass() == 1) }
        #expect(try await fixture.authorization(account.identity) == "active")
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
        #expect(try await fixture.count("provider_grants WHERE doubted_at IS NULL") == 1)
        try await fixture.sandbox.clearFaults()
        #expect(try await pass() == 1)
        #expect(try await fixture.grants(.apple).map(\.checks) == [1])
    }

    @Test func `a key that the provider refuses is an error in the log that names it, once a minute`() async throws {
        for person in ["kim", "ada"] { _ = try await fixture.account(.apple, person) }
        try await fixture.advance(by: 2 * Self.day)
        try await fixture.refuseKey(of: .apple)
        let log = RecordingLog()
        let checks = GrantCheckWorker(
            store: fixture.storage.grants, endpoints: fixture.endpoints, clock: fixture.clock, logger: log.logger)
        #expect(try await checks.checkDue() == 2)
        let client = LifeCycleFixture.appleClient
        #expect(
            log.lines == [
                """
                error client credentials refused by the provider, check the key client=\(client) error=invalid_client \
                key=\(LifeCycleFixture.keyID) provider=apple
                """
            ])
    }

    @Test(.appAndWeb) func `of two clients' grants the second decides`() async throws {
        let account = try await fixture.account(.apple)
        _ = try await fixture.session(try await fixture.consent(.apple, appleClient: LifeCycleFixture.webClient))
        try await fixture.advance(by: 2 * Self.day)
        try await fixture.withdraw(.apple)
        // The app's grant is dead; the other one, which is asked about at once, is not.
        while try await fixture.checks.checkDue() > 0 {}
        #expect(try await fixture.authorization(account.identity) == "active")
        #expect(try await fixture.count("sessions WHERE ended_at IS NOT NULL") == 0)
        #expect(try await fixture.texts("SELECT client_id FROM provider_grants") == [LifeCycleFixture.webClient])
        try await fixture.sandbox.withdrawApple("kim", clientID: LifeCycleFixture.webClient)
        #expect(try await pass() == 1)
        #expect(try await fixture.authorization(account.identity) == "revoked")
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 0)
    }

    @Test func `a late answer about a replaced grant ends nothing`() async throws {
        let account = try await fixture.account(.apple)
        let (check, now) = try await takeCheck()
        _ = try await fixture.session(try await fixture.consent(.apple))
        #expect(try await !fixture.storage.grants.noteDead(check, reason: "invalid_grant", by: .at(now)))
        #expect(try await fixture.authorization(account.identity) == "active")
        #expect(try await fixture.count("provider_grants") == 1)
        _ = try await fixture.opened(account)
    }

    @Test func `an authorization's end waits for a sign-in that has looked at it, and ends what it opens`() async throws
    {
        let account = try await fixture.account(.apple)
        let (check, now) = try await takeCheck()
        let storage = fixture.storage
        let ending = try await fixture.database.transaction { signIn in
            _ = try await signIn.execute(
                """
                SELECT FROM identities i JOIN accounts a USING (account_id)
                WHERE i.identity_id = \(check.identityID)
                FOR KEY SHARE OF a, i
                """)
            _ = try await signIn.execute(
                """
                INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, amr, created_at,
                    last_used_at, expires_at)
                SELECT gen_random_uuid(), account_id, identity_id, rotated_at, auth_time, amr, created_at, last_used_at,
                    expires_at
                FROM sessions WHERE identity_id = \(check.identityID) LIMIT 1
                """)
            let ending = Task { try await storage.grants.noteDead(check, reason: "invalid_grant", by: .at(now)) }
            try await signIn.awaitWaiters()
            return ending
        }
        #expect(try await ending.value)
        #expect(try await fixture.authorization(account.identity) == "revoked")
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 0)
        #expect(try await fixture.count("sessions") == 2)
    }

    @Test func `an identity that moves while the end of its authorization waits is asked about again`() async throws {
        let account = try await fixture.account(.apple)
        let other = try await fixture.register("kim@local.example")
        let (check, now) = try await takeCheck()
        let storage = fixture.storage
        let ending = try await fixture.database.transaction { move in
            _ = try await move.execute("SELECT FROM accounts WHERE account_id = \(account.account.id) FOR UPDATE")
            _ = try await move.execute(
                "UPDATE identities SET account_id = \(other.account.id) WHERE identity_id = \(check.identityID)")
            let ending = Task { try await storage.grants.noteDead(check, reason: "invalid_grant", by: .at(now)) }
            try await move.awaitWaiters()
            return ending
        }
        #expect(try await !ending.value)
        #expect(try await fixture.authorization(account.identity) == "active")
        #expect(try await fixture.count("provider_grants") == 1)
    }
}
