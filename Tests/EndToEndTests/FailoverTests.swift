import Postgres
import Synchronization
import TestSupport
import Testing

/// A primary that fails and the standby that replaces it.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct FailoverTests {
    /// What is prepared for one task: each change has a person of its own, but for the session that is refreshed.
    private struct Persons: Sendable {
        /// Somebody with two identities, to unlink one of them and sign out.
        let unlinker: (access: String, identityID: String, accountID: String)
        /// The tickets of somebody new, of the second identity of `binder`, and of the identity that takes the place of
        /// the replacer's.
        let newcomer: (ticket: String, email: String)
        let binder: (access: String, refresh: String, sessionID: String, ticket: String, email: String)
        let replacer: (access: String, ticket: String, email: String)
        let leaver: (access: String, accountID: String)
        /// Somebody with a mailed code for a new password; `nil` for most tasks, since hashing one takes long.
        let forgetful: (email: String, code: String, accountID: String)?
    }

    /// What was changed: each case has its own transaction.
    private enum Kind: CaseIterable { case unlinked, created, signedOut, bound, replaced, refreshed, reset, deleted }

    /// A change that was acknowledged to a client and so must be durable.
    private struct Change: Sendable {
        let kind: Kind
        /// The identity that was unlinked; the address of the identity that was linked; the session that was refreshed;
        /// otherwise the account.
        let id: String
    }

    private final class AcknowledgedChanges: Sendable {
        private let changes = Mutex<[Change]>([])
        /// Whether the primary, which made the first of them, has crashed.
        let isPrimaryDead = Atomic(false)

        func record(_ kind: Kind, _ id: String) { changes.withLock { $0.append(Change(kind: kind, id: id)) } }
        var all: [Change] { changes.withLock(\.self) }
        var kinds: Set<Kind> { Set(all.map(\.kind)) }
    }

    /// Runs a service on a primary with a synchronous standby.
    private func service(_ body: (PrivateCluster, PrivateCluster, World) async throws -> Void) async throws {
        try await MailedWorld.withServer { mail in
            try await World.onStandby(isDurable: true, mail) { primary, standby, world in
                try await world.scratch.confirmCommits()
                try await body(primary.cluster, standby.cluster, world)
            }
        }
    }

    private func makePersons(_ number: Int, _ world: World) async throws -> Persons {
        let service = world.service
        let two = try await world.newAccount("unlinker-\(number)")
        let google = try await world.signIn("unlinker-\(number)", with: .google)
        let linked = try await service.bind(try google.linkTicket(), bearer: try two.bearer())
        try await world.newPerson("newcomer-\(number)")
        let newcomer = try await world.signIn("newcomer-\(number)", with: .apple)
        let binder = try await world.newAccount("binder-\(number)")
        let second = try await world.signIn("binder-\(number)", with: .google)
        let replacer = try await world.newAccount("replacer-\(number)")
        try await world.newPerson("replacement-\(number)")
        let replacement = try await world.signIn("replacement-\(number)", with: .apple)
        let leaver = try await world.newAccount("leaver-\(number)")
        return Persons(
            // The session of the binding: unlinking ends those that the identity opened.
            unlinker: (try linked.bearer(), try two.identityID(), try two.accountID()),
            newcomer: (try newcomer.linkTicket(), "newcomer-\(number)@example.com"),
            binder: (
                try binder.bearer(), try binder.refreshToken(),
                try binder.sessionID(), try second.linkTicket(), "binder-\(number)@example.com"
            ),
            replacer: (try replacer.bearer(), try replacement.linkTicket(), "replacement-\(number)@example.com"),
            leaver: (try leaver.bearer(), try leaver.accountID()),
            forgetful: number % 4 == 0 ? try await forgetful(number, world) : nil)
    }

    private func forgetful(
        _ number: Int, _ world: World
    ) async throws -> (email: String, code: String, accountID: String) {
        let email = "forgetful-\(number)@example.com"
        let registered = try await world.register(email)
        let code = try await world.mailedCode("resetPassword", to: email)
        return (email, code, try registered.accountID())
    }

    private static func act(
        as persons: Persons, at service: Countersign, _ acknowledged: AcknowledgedChanges
    ) async throws {
        /// - Parameter repeated: the statuses of a request whose effect is there, and whose first answer was an outage.
        func change(
            _ kind: Kind, _ id: String, _ success: Int, repeated: [Int], _ ask: () async throws -> Int
        ) async throws {
            var status = try await ask()
            while status == 503 {
                try await Task.sleep(for: .milliseconds(50))
                status = try await ask()
            }
            if status == success { acknowledged.record(kind, id) }
            #expect(([success] + repeated).contains(status), "\(kind)")
        }
        func bind(_ ticket: String, _ access: String, _ more: TokenMint.Members = [:]) async throws -> Int {
            let members = more.with("linkTicket", .string(ticket))
            return try await service.post("/v1/links/bind", members, bearer: access).status
        }
        let (unlinker, newcomer, binder) = (persons.unlinker, persons.newcomer, persons.binder)
        let (replacer, leaver) = (persons.replacer, persons.leaver)
        try await change(.unlinked, unlinker.identityID, 202, repeated: [404]) {
            let path = "/v1/account/identities/\(unlinker.identityID)"
            return try await service.delete(path, bearer: unlinker.access).status
        }
        try await change(.created, newcomer.email, 201, repeated: [410]) {
            try await service.create(newcomer.ticket).status
        }
        try await change(.signedOut, unlinker.accountID, 204, repeated: [401]) {
            try await service.signOut("all", bearer: unlinker.access).status
        }
        try await change(.bound, binder.email, 200, repeated: [410]) { try await bind(binder.ticket, binder.access) }
        try await change(.refreshed, binder.sessionID, 200, repeated: []) {
            try await service.refresh(binder.refresh).status
        }
        // The session that proves the account is the replaced identity's, and ends.
        try await change(.replaced, replacer.email, 200, repeated: [401, 410]) {
            try await bind(replacer.ticket, replacer.access, ["onConflict": "replace"])
        }
        if let forgetful = persons.forgetful {
            try await change(.reset, forgetful.accountID, 204, repeated: [401]) {
                try await service.post(
                    "/v1/accounts/password-reset",
                    [
                        "email": .string(forgetful.email), "code": .string(forgetful.code),
                        "newPassword": "another horse battery",
                    ]
                ).status
            }
        }
        try await change(.deleted, leaver.accountID, 202, repeated: [401]) {
            try await service.delete("/v1/account", bearer: leaver.access).status
        }
    }

    /// Whether the database has this change.
    private func isKept(_ change: Change, in database: Database) async throws -> Bool {
        let question: SQL =
            switch change.kind {
            case .unlinked: "SELECT NOT EXISTS (SELECT FROM identities WHERE identity_id = \(change.id)::uuid)"
            case .created, .replaced: "SELECT EXISTS (SELECT FROM identities WHERE email = \(change.id))"
            case .bound: "SELECT EXISTS (SELECT FROM identities WHERE email = \(change.id) AND provider = 'google')"
            case .signedOut, .reset:
                "SELECT NOT EXISTS (SELECT FROM sessions WHERE account_id = \(change.id)::uuid AND ended_at IS NULL)"
            case .refreshed:
                "SELECT EXISTS (SELECT FROM sessions WHERE session_id = \(change.id)::uuid AND generation > 1)"
            case .deleted: "SELECT NOT EXISTS (SELECT FROM accounts WHERE account_id = \(change.id)::uuid)"
            }
        return try await database.query(question, as: Bool.self).first == true
    }

    @Test func `what was answered before the primary died is there after the standby took over`() async throws {
        try await service { primary, standby, world in
            let persons = try await concurrently(0..<16) { try await makePersons($0, world) }
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
                try await eventually("a change of each kind") { acknowledged.kinds.count == Kind.allCases.count }
                try await primary.crash()
                let before = acknowledged.all.count
                acknowledged.isPrimaryDead.store(true, ordering: .relaxed)
                try await standby.promote()
                try await eventually("the service to be back") { try await world.service.isReady() }
                try await group.waitForAll()
                #expect(Set(acknowledged.all[before...].map(\.kind)) == Set(Kind.allCases))
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
