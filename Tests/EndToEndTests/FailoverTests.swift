import JOSE
import Postgres
import Synchronization
import TestSupport
import Testing

/// A primary that fails and the standby that replaces it.
@Suite(.limitedConcurrency, .timeLimit(.minutes(5))) struct FailoverTests {
    /// A person with two identities, and the link ticket of another person.
    private struct Person: Sendable {
        let access: String
        let appleIdentity: String
        let accountID: String
        let newcomer: String
        let ticket: String
    }

    /// A change that was acknowledged to a client and so must be durable.
    private enum Change: Sendable {
        case unlinked(identityID: String)
        case created(person: String)
        case signedOut(accountID: String)
    }

    private final class AcknowledgedChanges: Sendable {
        private let changes = Mutex<[Change]>([])
        /// Whether the primary, which made the first of them, has crashed.
        let isPrimaryDead = Atomic(false)

        func record(_ change: Change) { changes.withLock { $0.append(change) } }
        var all: [Change] { changes.withLock(\.self) }
    }

    /// Runs a service on a primary with a synchronous standby.
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

    /// Repeats a request until its status is not that of an outage.
    private static func retryThroughOutage(_ ask: () async throws -> Int) async throws -> Int {
        while true {
            let status = try await ask()
            guard status == 503 else { return status }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func act(
        as person: Person, at service: Countersign, _ acknowledged: AcknowledgedChanges
    ) async throws {
        let unlinked = try await retryThroughOutage {
            try await service.delete("/v1/account/identities/\(person.appleIdentity)", bearer: person.access).status
        }
        if unlinked == 202 { acknowledged.record(.unlinked(identityID: person.appleIdentity)) }
        #expect([202, 404].contains(unlinked))
        let created = try await retryThroughOutage {
            try await service.post("/v1/links/create", ["linkTicket": .string(person.ticket)]).status
        }
        if created == 201 { acknowledged.record(.created(person: person.newcomer)) }
        #expect([201, 410].contains(created))
        let signedOut = try await retryThroughOutage {
            try await service.post("/v1/sessions/revoke", ["scope": "all"], bearer: person.access).status
        }
        if signedOut == 204 { acknowledged.record(.signedOut(accountID: person.accountID)) }
        #expect([204, 401].contains(signedOut))
    }

    /// Whether the database has this change.
    private func isKept(_ change: Change, in database: Database) async throws -> Bool {
        let question: SQL =
            switch change {
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
            let persons = try await people(16, world)
            let acknowledged = AcknowledgedChanges()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for share in 0..<4 {
                    group.addTask {
                        for index in stride(from: share, to: persons.count, by: 4) {
                            // The second half acts after the crash, however long that takes.
                            while index >= 8, !acknowledged.isPrimaryDead.load(ordering: .relaxed) {
                                try await Task.sleep(for: .milliseconds(10))
                            }
                            try await Self.act(as: persons[index], at: world.service, acknowledged)
                        }
                    }
                }
                try await eventually("some changes") { acknowledged.all.count >= 4 }
                try await primary.crash()
                acknowledged.isPrimaryDead.store(true, ordering: .relaxed)
                let before = acknowledged.all.count
                try await standby.promote()
                try await eventually("the service to be back", within: .seconds(30)) {
                    try await world.service.privateGet("/health/ready").status == 200
                }
                try await group.waitForAll()
                #expect(acknowledged.all.count > before)
            }
            try await world.scratch.withPool { database in
                for change in acknowledged.all {
                    let isKept = try await isKept(change, in: database)
                    #expect(isKept, "\(change)")
                }
            }
        }
    }
}
