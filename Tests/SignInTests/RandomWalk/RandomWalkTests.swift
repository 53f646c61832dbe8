import Accounts
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

    @Test(.fixture(SignInFixture.self), arguments: WalkInvariant.allCases)
    func `a walk sees what must not be`(invariant: WalkInvariant) async throws {
        try await WalkLedger.install(in: fixture.database)
        for person in ["kim", "ada"] { _ = try await fixture.signUp(.google(person)) }
        let now = fixture.clock.now()
        #expect(try await WalkInvariant.broken(in: fixture.database, at: now).isEmpty)
        try await fixture.database.run(script: try DataFile("SQL/Breaches.sql").part("\(invariant)"))
        #expect(try await WalkInvariant.broken(in: fixture.database, at: now).keys.contains(invariant))
    }

    @Test(.fixture(SignInFixture.self), arguments: WalkFeed.allCases)
    func `a walk sees where feed and tables disagree`(_ rule: WalkFeed) async throws {
        try await WalkLedger.install(in: fixture.database)
        for person in ["kim", "ada"] { _ = try await fixture.signUp(.google(person)) }
        #expect(try await WalkFeed.broken(in: fixture.database).isEmpty)
        try await fixture.database.run(script: try DataFile("SQL/Breaches.sql").part("\(rule)"))
        #expect(try await WalkFeed.broken(in: fixture.database).keys.contains(rule))
    }

    @Test func `a walk sees what nobody wrote down, and what was used twice`() async throws {
        try await WalkWorld.run(WalkPolicy.all[0]) { world in
            let change = WalkChange(requestID: "walk-0-1", kinds: [.accountCreated])
            let missing = try await WalkRecord.missing([change], in: world.database, since: world.clock.now())
            #expect(missing.count == 1 && missing[0].hasPrefix("no audit record of account_created by walk-0-1 since"))
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

    @Test(.fixture { try await SignInFixture.withMail($0) })
    func `a walk sees the ticket of an identity that signs in without it`() async throws {
        let registered = try await fixture.register("kim@example.com")
        let memory = WalkMemory()
        memory.change { $0.mailboxes["of a mailbox"] = "kim@example.com" }
        memory.remember(registered, by: "of a mailbox")
        memory.remember(try await fixture.signUp(.google("kim")), by: "of an identity")
        #expect(memory.takeReport().faults.isEmpty)
        memory.remember(registered, by: "of an identity")
        #expect(memory.takeReport().faults == ["an identity's ticket has signed in without it"])
    }
}
