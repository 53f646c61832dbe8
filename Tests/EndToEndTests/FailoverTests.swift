import JOSE
import Postgres
import Synchronization
import TestSupport
import Testing

/// A primary that dies and the standby that takes its place.
@Suite(.sequentially, .timeLimit(.minutes(5))) struct FailoverTests {
    /// Somebody with two identities, and a ticket of somebody else's.
    private struct Person: Sendable {
        let access: String
        let appleIdentity: String
        let accountID: String
        let newcomer: String
        let ticket: String
    }

    /// What was answered, and so must be there for ever.
    private enum Promise: Sendable {
        case unlinked(identityID: String)
        case created(person: String)
        case signedOut(accountID: String)
    }

    private final class Promises: Sendable {
        private let given = Mutex<[Promise]>([])
        /// Whether the primary, which gave the first of them, is no more.
        let isPrimaryDead = Atomic(false)

        func keep(_ promise: Promise) { given.withLock { $0.append(promise) } }
        var all: [Promise] { given.withLock(\.self) }
    }

    /// A service on the first of two servers, of which the second has everything that the first has confirmed.
    private func service(_ body: (PrivateCluster, PrivateCluster, World) async throws -> Void) async throws {
        try await Sandbox.run { sandbox in
            try await PrivateCluster.run(isDurable: true) { primary, url in
                try await primary.withStandby { standby, standbyURL in
                    let first = ScratchDatabase(url: url)
                    try await first.execute(
                        "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
                    try await first.withPool { database in
                        try await eventually("the standby to confirm commits") {
                            let states = try await database.query("SELECT sync_state FROM pg_stat_replication") {
                                row throws(PostgresError) in try row.decode(String.self)
                            }
                            return states == ["sync"]
                        }
                    }
                    let second = standbyURL.split(separator: "host=").last ?? ""
                    let both = ScratchDatabase(url: "\(url),\(second)&target_session_attrs=read-write")
                    try await Countersign.serve(World.settings(both, sandbox), arguments: ["--migrate"]) { service in
                        let world = World(service: service, sandbox: sandbox, scratch: both)
                        try await body(primary, standby, world)
                        #expect(service.isRunning)
                    }
                }
            }
        }
    }

    private func people(_ count: Int, _ world: World) async throws -> [Person] {
        try await withThrowingTaskGroup(of: Person.self) { group in
            for number in 0..<count {
                group.addTask {
                    let created = try await world.newAccount("person-\(number)")
                    let access = try created.text("session.accessToken")
                    let google = try await world.service.signInWithGoogle(
                        try await world.googleToken("person-\(number)"))
                    let bound = try await world.service.post(
                        "/v1/links/bind", ["linkTicket": .string(try google.text("linkTicket"))], bearer: access)
                    let newcomer = "newcomer-\(number)@example.com"
                    try await world.newPerson("newcomer-\(number)")
                    let ticket = try await world.service.signInWithApple(
                        try await world.appleToken("newcomer-\(number)"))
                    // The session of the binding: unlinking ends those that the identity opened.
                    return Person(
                        access: try bound.text("session.accessToken"),
                        appleIdentity: try created.text("identity.identityId"),
                        accountID: try created.text("account.accountId"), newcomer: newcomer,
                        ticket: try ticket.text("linkTicket"))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Asks until the answer is not that of an outage.
    private static func insist(_ ask: () async throws -> Int) async throws -> Int {
        while true {
            let status = try await ask()
            guard status == 503 else { return status }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func act(
        as person: Person, at service: Countersign, _ promises: Promises
    ) async throws {
        let unlinked = try await insist {
            try await service.delete("/v1/account/identities/\(person.appleIdentity)", bearer: person.access).status
        }
        if unlinked == 202 { promises.keep(.unlinked(identityID: person.appleIdentity)) }
        #expect([202, 404].contains(unlinked))
        let created = try await insist {
            try await service.post("/v1/links/create", ["linkTicket": .string(person.ticket)]).status
        }
        if created == 201 { promises.keep(.created(person: person.newcomer)) }
        #expect([201, 410].contains(created))
        let signedOut = try await insist {
            try await service.post("/v1/sessions/revoke", ["scope": "all"], bearer: person.access).status
        }
        if signedOut == 204 { promises.keep(.signedOut(accountID: person.accountID)) }
        #expect([204, 401].contains(signedOut))
    }

    /// How many of a promise's rows are as it says: 1 when it was kept.
    private func kept(_ promise: Promise, in database: Database) async throws -> Bool {
        let question: SQL =
            switch promise {
            case .unlinked(let identityID):
                "SELECT NOT EXISTS (SELECT FROM identities WHERE identity_id = \(identityID)::uuid)"
            case .created(let person):
                "SELECT EXISTS (SELECT FROM identities WHERE email = \(person))"
            case .signedOut(let accountID):
                """
                SELECT NOT EXISTS (
                    SELECT FROM sessions WHERE account_id = \(accountID)::uuid AND ended_at IS NULL)
                """
            }
        let rows = try await database.query(question) { row throws(PostgresError) in try row.decode(Bool.self) }
        return rows.first == true
    }

    @Test func `what was answered before the primary died is there after the standby took over`() async throws {
        try await service { primary, standby, world in
            let everybody = try await people(16, world)
            let promises = Promises()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for share in 0..<4 {
                    group.addTask {
                        for index in stride(from: share, to: everybody.count, by: 4) {
                            // The second half is kept for afterwards, however long the death takes.
                            while index >= 8, !promises.isPrimaryDead.load(ordering: .relaxed) {
                                try await Task.sleep(for: .milliseconds(10))
                            }
                            try await Self.act(as: everybody[index], at: world.service, promises)
                        }
                    }
                }
                try await eventually("some promises") { promises.all.count >= 4 }
                try await primary.crash()
                promises.isPrimaryDead.store(true, ordering: .relaxed)
                let before = promises.all.count
                try await standby.promote()
                try await eventually("the service to be back", within: .seconds(30)) {
                    try await world.service.privateGet("/health/ready").status == 200
                }
                try await group.waitForAll()
                #expect(promises.all.count > before)
            }
            try await world.scratch.withPool { database in
                for promise in promises.all {
                    let isKept = try await kept(promise, in: database)
                    #expect(isKept, "\(promise)")
                }
            }
        }
    }
}
