import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// Random walks: whatever people, operators and providers do, in any order and at once, the invariants hold. The seeds
/// are fixed; the soak draws others.
@Suite struct RandomWalkTests {
    var fixture: SignInFixture { .current }

    @Test(arguments: WalkPolicy.all)
    func `eight walkers at once break nothing, looked at after each step of all`(policy: WalkPolicy) async throws {
        try await WalkWorld.run(policy, poolSize: 8) { world in
            var walk = RandomWalk(world, seed: 1, walkers: 8)
            try await walk.go(496, pause: 8)
            #expect(walk.steps == 496)
        }
    }

    /// A walker that is waited for after each step never overtakes another one by several.
    @Test(arguments: WalkPolicy.all)
    func `eight walkers who take six steps each at their own pace break nothing`(policy: WalkPolicy) async throws {
        try await WalkWorld.run(policy, poolSize: 8) { world in
            var walk = RandomWalk(world, seed: 4, walkers: 8)
            try await walk.go(192, pause: 48)
            #expect(walk.steps == 192)
        }
    }

    @Test(arguments: WalkPolicy.all)
    func `one walker breaks nothing, looked at after each step`(policy: WalkPolicy) async throws {
        try await WalkWorld.run(policy) { world in
            var walk = RandomWalk(world, seed: 2)
            try await walk.go(150, pause: 1)
        }
    }

    @Test func `one walker goes the same way again`() async throws {
        var traces: [[String]] = []
        for _ in 1...2 {
            try await WalkWorld.run(WalkPolicy(verifiedEmail: .automatic, strayAccount: .merge)) { world in
                var walk = RandomWalk(world, seed: 7, keepsTrace: true)
                try await walk.go(200, pause: 200)
                traces.append(walk.walkers[0].trace)
            }
        }
        #expect(traces[0].count == 200)
        #expect(traces[0] == traces[1])
    }

    @Test func `fifty at once on ten accounts end in no deadlock`() async throws {
        let contention = WalkContention(seed: 3)
        let summary = try await contention.run { $0 < 2_000 }
        #expect(summary.steps >= 2_000)
        #expect(summary.deadlocks == 0)
    }

    // MARK: Broken invariants are seen

    /// The statements that break each invariant, which an operator would have to run by hand.
    private static let breaches: [WalkInvariant: [SQL]] = [
        .oneIdentityOfAProvider: [
            "ALTER TABLE identities DROP CONSTRAINT identities_account_provider_key",
            "UPDATE identities SET account_id = (SELECT account_id FROM identities WHERE subject = 'kim')",
        ],
        .sessionOfLinkedIdentity: ["DELETE FROM identities WHERE subject = 'kim'"],
        .sessionOfActiveAccount: ["UPDATE accounts SET status = 'disabled'"],
        .linkOfActiveAccount: [
            """
            INSERT INTO oauth_clients (client_id, name, redirect_uris, assertion_audiences, require_pkce,
                rotate_refresh, streamlined_create, introspect, status, secret_hash, created_at)
            VALUES ('lamps', 'Lamps', '{}', '{}', false, false, false, false, 'active', sha256(''), now())
            """,
            """
            INSERT INTO oauth_grants (grant_id, account_id, client_id, scopes, linked_at)
            SELECT account_id, account_id, 'lamps', '{profile}', created_at FROM accounts
            """, "UPDATE accounts SET status = 'disabled'",
        ],
        .wayIn: ["DELETE FROM identities", "UPDATE accounts SET email_verified = false"],
        .passwordWithAddress: ["UPDATE accounts SET password_hash = 'x'"],
        .grantOfItsHolder: [grant("identity_id, NULL, NULL"), "UPDATE provider_grants SET subject = 'nobody'"],
        .grantInForce: [grant("identity_id, NULL, NULL")],
        .revocationUnderWay: ["UPDATE identities SET authorization_status = 'revoking'"],
        .doneHoldsNothing: [
            """
            INSERT INTO outbox (message_id, kind, status, provider, realm, subject, next_attempt_at, created_at,
                finished_at)
            SELECT identity_id, 'revocation', 'done', provider, realm, subject, created_at, created_at, created_at
            FROM identities
            """, grant("NULL, NULL, identity_id"),
        ],
        .oneOwnerOfAnAddress: [
            "ALTER TABLE accounts DROP CONSTRAINT accounts_email_key", "UPDATE accounts SET email = 'kim@example.com'",
        ],
        .sessionLineage: [
            "ALTER TABLE sessions DROP CONSTRAINT sessions_lineage_ordered",
            "UPDATE sessions SET parent_generation = 2",
        ],
        .provenAddress: [
            "UPDATE accounts SET email = account_id || '@example.com', email_verified = true, email_proof = 'proven'"
        ],
        .seenWays: [
            """
            INSERT INTO walk_entries (account_id, number, entered_in, shown)
            SELECT account_id, nextval('walk_order'), pg_current_xact_id(), '{}' FROM accounts
            """
        ],
    ]

    private static func grant(_ holders: SQL) -> SQL {
        """
        INSERT INTO provider_grants (grant_id, provider, realm, subject, client_id, sealed_refresh_token,
            prefix_fingerprint, digest_fingerprint, created_at, identity_id, ticket_hash, revocation_id)
        SELECT gen_random_uuid(), provider, realm, subject, 'lamp', '', '', '', created_at, \(holders)
        FROM identities
        """
    }

    @Test(.fixture(SignInFixture.self), arguments: WalkInvariant.allCases)
    func `a walk sees what must not be`(invariant: WalkInvariant) async throws {
        try await WalkLedger.install(in: fixture.database)
        for person in ["kim", "ada"] {
            _ = try await fixture.signUp(.google(person))
        }
        let now = fixture.clock.now()
        #expect(try await WalkInvariant.broken(in: fixture.database, at: now).isEmpty)
        for statement in try #require(Self.breaches[invariant]) {
            _ = try await fixture.database.execute(statement)
        }
        #expect(try await WalkInvariant.broken(in: fixture.database, at: now).keys.contains(invariant))
    }

    /// The statements that break each rule of the feed.
    private static let disagreements: [WalkFeed: [SQL]] = [
        .numbers: ["UPDATE unstamped_events SET sequence = sequence + 1"],
        .existence: ["DELETE FROM accounts"],
        .status: ["UPDATE accounts SET status = 'disabled'"],
        .address: [
            """
            INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
            SELECT gen_random_uuid(), 'account.email_changed', account_id, 9, '{"emailProof":"claimed"}', now() FROM accounts
            """
        ],
        .identities: ["DELETE FROM identities WHERE subject = 'kim'"],
        .clients: [
            """
            INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
            SELECT gen_random_uuid(), 'client.linked', account_id, 9, '{"clientId":"lamps"}', now() FROM accounts
            """
        ],
        .sessions: ["UPDATE sessions SET ended_at = now(), end_reason = 'signed_out'"],
        .lastWord: [
            """
            INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
            SELECT gen_random_uuid(), 'account.deleted', account_id, 0, '{}', now() FROM accounts
            """
        ],
    ]

    @Test(.fixture(SignInFixture.self), arguments: WalkFeed.allCases)
    func `a walk sees where feed and tables disagree`(_ rule: WalkFeed) async throws {
        for person in ["kim", "ada"] {
            _ = try await fixture.signUp(.google(person))
        }
        #expect(try await WalkFeed.broken(in: fixture.database).isEmpty)
        for statement in try #require(Self.disagreements[rule]) {
            _ = try await fixture.database.execute(statement)
        }
        #expect(try await WalkFeed.broken(in: fixture.database).keys.contains(rule))
    }

    @Test func `a walk sees what nobody wrote down, and what was used twice`() async throws {
        try await WalkWorld.run(WalkPolicy.all[0]) { world in
            let change = WalkChange(requestID: "walk-0-1", kinds: [.accountCreated])
            let missing = try await WalkRecord.missing([change], in: world.database, since: world.clock.now())
            #expect(missing == ["no audit record of account_created by walk-0-1"])
            for _ in 1...2 {
                world.memory.spent(ticket: "ticket")
                world.memory.used(code: EmailCodeID(now: world.clock.now()))
            }
            #expect(world.memory.takeReport().faults == ["a ticket was used twice"])
            let code = EmailCodeID(now: world.clock.now())
            for _ in 1...2 { world.memory.used(code: code) }
            #expect(world.memory.takeReport().faults == ["a mailed code was accepted twice"])
        }
    }
}
