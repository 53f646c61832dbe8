import Foundation
import Postgres
import TestSupport
import Testing

/// The accounts whose creation was answered with 201.
private actor Acknowledged {
    private(set) var accounts: [Int: String] = [:]

    func record(_ account: String, of person: Int) { accounts[person] = account }
}

@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct CrashTests: WorldSuite {
    private static let people = 10

    /// Five tickets of each of ten people.
    private func tickets(_ world: World) async throws -> [(person: Int, ticket: String)] {
        var tickets: [(Int, String)] = []
        for person in 0..<Self.people {
            try await world.newPerson("p\(person)")
            let token = try await world.appleToken("p\(person)")
            for _ in 0..<5 { tickets.append((person, try await world.service.signInWithApple(token).linkTicket())) }
        }
        return tickets
    }

    /// Expects what must hold after any crash: no row lacks its counterparts, and no person has two accounts.
    private func expectInvariants(_ world: World, _ location: SourceLocation = #_sourceLocation) async throws {
        let orphans = try await world.count(SQL(unsafeSQL: Fixtures.file("orphans.sql").text))
        #expect(orphans == 0, sourceLocation: location)
        let accounts = try await world.count("SELECT count(*) FROM accounts")
        #expect(accounts == (try await world.count("SELECT count(*) FROM identities")), sourceLocation: location)
        #expect(accounts <= Int64(Self.people), sourceLocation: location)
        // One ticket each was spent: a failed creation was rolled back.
        let spent = try await world.count("SELECT count(*) FROM link_tickets WHERE consumed_at IS NOT NULL")
        #expect(spent == accounts, sourceLocation: location)
    }

    /// As a trap ends it: at once, with all of its requests. (SIGILL from outside would not: after the backtrace of
    /// Swift's runtime the process goes on, since no instruction is there to trap again.)
    @Test func `a process that dies ends no other, and its sessions go on there and in the one that follows it`()
        async throws
    {
        // The load opens more sessions than an account may have; the processes take each other's tokens.
        let shared = [
            "limits.sessionsPerAccount": "0", "tokens.issuer": "https://auth.example.com",
            "tokens.audience": "https://auth.example.com",
        ]
        try await World.run(shared) { world in
            let settings = try World.settings(world.scratch, world.sandbox).merging(shared) { $1 }
            let created = try await world.newAccount("kim")
            let access = try created.bearer()
            let token = try await world.appleToken("kim")
            try await Countersign.serve(settings) { other in
                let load = Load()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            while !load.isOver {
                                load.count("\(try await other.signInWithApple(token).status)")
                                load.count("\(try await other.get("/v1/account", bearer: access).status)")
                            }
                        }
                    }
                    func awaitAnswers() async throws {
                        let before = load.counts["200"] ?? 0
                        try await eventually("answers of the other") { load.counts["200"] ?? 0 >= before + 40 }
                    }
                    do {
                        try await awaitAnswers()
                        let ending = await world.service.kill(SIGKILL)
                        #expect(ending.status == nil)
                        try await awaitAnswers()
                        let next = try await Countersign.start(
                            settings, ports: (world.service.port, world.service.privatePort))
                        let isOpen = try await next.get("/v1/account", bearer: access).status == 200
                        let signedIn = try await next.signInWithApple(token).status == 200
                        await next.stop()
                        #expect(isOpen && signedIn)
                    } catch {
                        load.end()
                        throw error
                    }
                    load.end()
                    try await group.waitForAll()
                }
                #expect(Set(load.counts.keys) == ["200"], "\(load.counts)")
                try await other.refresh(try created.refreshToken()).expecting(200)
                #expect(other.isRunning)
            }
        }
    }

    @Test(.world, arguments: [1, 3, 5])
    func `killed amid fifty creates, the next process finds all of an account or nothing`(
        after answers: Int
    ) async throws {
        let tickets = try await tickets(world)
        let acknowledged = Acknowledged()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (person, ticket) in tickets {
                group.addTask {
                    // Most of these find the connection broken; that is the test.
                    let answer = try? await world.service.create(ticket)
                    guard let answer, answer.status == 201 else { return }
                    let account = try answer.accountID()
                    await acknowledged.record(account, of: person)
                }
            }
            group.addTask {
                try await eventually("some answers") { await acknowledged.accounts.count >= answers }
                world.service.send(SIGKILL)
                let ending = await world.service.end()
                #expect(ending.status == nil)
            }
            try await group.waitForAll()
        }
        try await expectInvariants(world)

        try await World.serve(scratch, world.sandbox) { next in
            for person in 0..<Self.people {
                let answer = try await next.signIn("p\(person)", with: .apple)
                if let account = await acknowledged.accounts[person] {
                    #expect(try answer.accountID() == account)
                } else if try answer.text("status") == "linkRequired" {
                    try await next.service.create(try answer.linkTicket()).expecting(201)
                }
            }
            try await expectInvariants(next)
            #expect(try await next.count("SELECT count(*) FROM accounts") == Int64(Self.people))
        }
    }
}
