import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The revocation worker: when it tries again, when it gives up, and how several processes share the outbox.
@Suite(.fixture(LifeCycleFixture.self), .timeLimit(.minutes(15))) struct RevocationWorkerTests {
    var fixture: LifeCycleFixture { .current }

    /// A deletion's revocation while the provider takes none.
    private func outage() async throws {
        let account = try await fixture.account(.apple)
        try await fixture.sandbox.fail("/apple/auth/revoke", .status(503))
        try await fixture.deleteAccount(account)
    }

    private func revocationRow() async throws -> LifeCycleFixture.RevocationRow {
        let rows = try await fixture.revocationRows()
        try #require(rows.count == 1)
        return rows[0]
    }

    private func waitUntilDue() async throws { try await fixture.move(to: try await revocationRow().nextAttemptAt) }

    // MARK: Trying again

    @Test
    func `while the provider is down for an hour the pauses double, and it ends with the first answer`() async throws {
        try await outage()
        let end = fixture.clock.now().advanced(bySeconds: 3600)
        var pauses: [Double] = []
        while fixture.clock.now() < end {
            let now = fixture.clock.now()
            #expect(try await fixture.revocations.attemptDue(at: .apple) == 1)
            let row = try await revocationRow()
            #expect(row.lastError == "http_503")
            #expect(Int(row.attempts) == pauses.count + 1)
            pauses.append(Double(row.nextAttemptAt.microseconds - now.microseconds) / 1_000_000)
            // Not before it is due.
            fixture.clock.set(to: row.nextAttemptAt.seconds)
            if fixture.clock.now() < row.nextAttemptAt {
                #expect(try await fixture.revocations.attemptDue(at: .apple) == 0)
            }
            try await waitUntilDue()
        }
        for (number, pause) in pauses.enumerated() {
            // An hour at most.
            let usual = Double(min(1 << number, 3600))
            #expect((0.8 * usual...1.2 * usual).contains(pause), "pause \(number) of \(pause) s")
        }
        #expect((10...13).contains(pauses.count))

        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.revocations.attemptDue(at: .apple) == 1)
        #expect(try await revocationRow().status == "done")
        #expect(try await fixture.grants(.apple).map(\.revocations) == [1])
        #expect(try await fixture.revocations.attemptDue(at: .apple) == 0)
    }

    @Test func `after the last attempt it is given up, with the reason and the token kept`() async throws {
        try await outage()
        let start = fixture.clock.now()
        let token = try await fixture.refreshTokens()
        for attempt in 1...RetrySchedule.maximumAttempts {
            #expect(try await revocationRow().status == "pending")
            #expect(try await fixture.revocations.attemptDue(at: .apple) == 1)
            let row = try await revocationRow()
            #expect(Int(row.attempts) == attempt)
            // The pauses between the later attempts are an hour.
            let pause = row.nextAttemptAt.seconds - fixture.clock.now().seconds
            #expect(pause <= 4320)
            try await waitUntilDue()
        }
        let row = try await revocationRow()
        #expect(row.status == "failed")
        #expect(row.lastError == "http_503")
        #expect(try await fixture.audited(.revocationFailed) == ["service http_503"])
        #expect(fixture.clock.now().seconds - start.seconds > 3 * 86_400)
        #expect(try await fixture.refreshTokens() == token)

        fixture.clock.advance(by: 86_400)
        #expect(try await fixture.revocations.attemptDue(at: .apple) == 0)
        #expect(try await fixture.sandbox.history(path: "/apple/auth/revoke").count == RetrySchedule.maximumAttempts)
    }

    @Test func `each refusal is noted by its code`() async throws {
        let account = try await fixture.account(.apple)
        try await fixture.deleteAccount(account)
        let faults: [(Sandbox.Fault, String)] = [
            (.status(429), "http_429"), (.reset, "closed"),
            (.status(400, body: #"{"error":"invalid_request"}"#), "invalid_request"),
            (.status(400, body: #"{"error":"invalid_client"}"#), "invalid_client"),
            (.status(400, body: "no"), "not_json"),
        ]
        for (fault, code) in faults {
            try await fixture.sandbox.fail("/apple/auth/revoke", fault)
            #expect(try await fixture.revocations.attemptDue(at: .apple) == 1)
            #expect(try await revocationRow().lastError == code)
            try await fixture.sandbox.clearFaults()
            try await waitUntilDue()
        }
        try await fixture.revokeDue()
        let row = try await revocationRow()
        #expect(row.status == "done")
        #expect(row.lastError == nil)
    }

    @Test(arguments: Provider.allCases)
    func `a token that is dead already is revoked`(provider: Provider) async throws {
        let account = try await fixture.account(provider)
        try await fixture.withdraw(provider)
        try await fixture.deleteAccount(account)
        try await fixture.revokeDue()
        #expect(try await revocationRow().status == "done")
        let answers = try await fixture.sandbox.history(path: LifeCycleFixture.revokePath(provider)).map(\.status)
        #expect(answers == (provider == .apple ? [200] : [400]))
    }

    @Test(.appAndWeb) func `of two tokens only the one that failed is revoked again`() async throws {
        _ = try await fixture.account(.apple)
        let web = try await fixture.consent(.apple, appleClient: LifeCycleFixture.webClient)
        try await fixture.deleteAccount(try await fixture.session(web))
        try await fixture.sandbox.fail("/apple/auth/revoke", .status(500), times: 1)
        #expect(try await fixture.revocations.attemptDue(at: .apple) == 1)
        #expect(try await revocationRow().status == "pending")
        #expect(try await fixture.count("provider_grants") == 1)
        try await waitUntilDue()
        try await fixture.revokeDue()
        #expect(try await revocationRow().status == "done")
        #expect(try await fixture.sandbox.history(path: "/apple/auth/revoke").count == 3)
        for client in LifeCycleFixture.appAndWeb {
            #expect(try await fixture.grants(.apple, clientID: client).map(\.revocations) == [1])
        }
    }

    @Test func `one provider's outage holds up nothing of the other's`() async throws {
        let account = try await fixture.account(.apple)
        let both = try await fixture.bind(try await fixture.ticket(try await fixture.consent(.google)), to: account)
        try await fixture.sandbox.fail("/apple/*", .status(503))
        try await fixture.deleteAccount(both)
        try await fixture.revokeDue()
        #expect(
            try await fixture.texts("SELECT provider || ' ' || status FROM outbox ORDER BY provider")
                == ["apple pending", "google done"])
    }

    // MARK: Several processes

    @Test func `two processes that share an outbox revoke each token once`() async throws {
        let count = 50
        for number in 1...count {
            let person = "person-\(number)"
            try await fixture.sandbox.addApplePerson(person)
            try await fixture.deleteAccount(try await fixture.account(.apple, person))
        }
        // Long enough for the two to overlap.
        try await fixture.sandbox.fail("/apple/auth/revoke", .delay(milliseconds: 100))
        let shares = try await concurrently(1...2) { _ -> Int in
            let process = RevocationWorker(
                store: fixture.storage.revocations,
                endpoints: fixture.endpoints, clock: fixture.clock, logger: .silent)
            var share = 0
            while case let claimed = try await process.attemptDue(at: .apple), claimed > 0 { share += claimed }
            return share
        }
        #expect(shares.reduce(0, +) == count)
        #expect(shares.allSatisfy { $0 > 0 })
        let rows = try await fixture.revocationRows()
        #expect(rows.allSatisfy { $0.status == "done" && $0.attempts == 1 })
        let grants = try await fixture.sandbox.authorizations(.apple).flatMap(\.grants)
        #expect(grants.count == count)
        #expect(grants.allSatisfy { $0.revocations == 1 && $0.endedBy == .revoke })
    }

    @Test func `what a dead process had claimed is free again after half a minute`() async throws {
        try await fixture.deleteAccount(try await fixture.account(.apple))
        let now = fixture.clock.now()
        let claimed = try await fixture.storage.revocations.claim(at: .apple, by: .at(now), lease: 30, limit: 8)
        #expect(claimed.work.map(\.attempt) == [1])
        // The process dies here, whether or not it has asked the provider. One whose clock is ahead waits as long as any
        // other.
        fixture.clock.advance(by: 40)
        try await fixture.storage.age(claimsBy: 15)
        #expect(try await fixture.revocations.attemptDue(at: .apple) == 0)
        try await fixture.storage.age(claimsBy: 15)
        #expect(try await fixture.revocations.attemptDue(at: .apple) == 1)
        let row = try await revocationRow()
        #expect(row.status == "done")
        #expect(row.attempts == 2)
    }

    @Test func `who has lost a claim writes nothing about it`() async throws {
        try await fixture.deleteAccount(try await fixture.account(.apple))
        let store = fixture.storage.revocations
        func claim() async throws -> ClaimedRevocation {
            let now = fixture.clock.now()
            let claimed = try await store.claim(at: .apple, by: .at(now), lease: 30, limit: 8)
            return try #require(claimed.work.first)
        }
        let slow = try await claim()
        try await fixture.storage.age(claimsBy: 30)
        let quick = try await claim()
        let row: SQL = "SELECT to_jsonb(o)::text FROM outbox o"
        let before = try await fixture.texts(row)
        let records = try await fixture.count("audit_events")
        let now = fixture.clock.now()
        try await store.postpone(slow, error: "late", until: now)
        try await store.giveUp(slow, error: "late", by: .at(now))
        try await store.finish(slow, by: .at(now))
        #expect(try await fixture.texts(row) == before)
        #expect(try await fixture.count("audit_events") == records)

        try await store.finish(quick, by: .at(now))
        #expect(try await revocationRow().status == "done")
        // Nor does it write anything after the end.
        let finished = try await fixture.texts(row)
        try await store.postpone(quick, error: "late", until: now)
        try await store.giveUp(quick, error: "late", by: .at(now))
        #expect(try await fixture.texts(row) == finished)
    }

    @Test func `what is done is kept for a quarter of a year, and what failed for good`() async throws {
        try await fixture.deleteAccount(try await fixture.account(.apple))
        try await fixture.revokeDue()
        try await fixture.deleteAccount(try await fixture.account(.apple))
        _ = try await fixture.database.execute(
            "UPDATE outbox SET status = 'failed', finished_at = \(fixture.clock.now()) WHERE status = 'pending'")
        try await fixture.advance(by: 90 * 86_400)
        while try await fixture.sweeper.sweep() > 0 {}
        #expect(try await fixture.revocationRows().map(\.status).sorted() == ["done", "failed"])
        try await fixture.advance(by: 1)
        while try await fixture.sweeper.sweep() > 0 {}
        #expect(try await fixture.revocationRows().map(\.status) == ["failed"])
        #expect(try await fixture.refreshTokens().count == 1)
    }

    @Test func `the backlog is known by number and age`() async throws {
        #expect(try await fixture.storage.revocations.backlog().pending == 0)
        #expect(try await fixture.storage.revocations.backlog().oldest == nil)
        try await outage()
        let backlog = try await fixture.storage.revocations.backlog()
        #expect(backlog.pending == 1)
        #expect(backlog.oldest == fixture.clock.now())
    }
}
