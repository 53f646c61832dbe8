import Postgres
import TestSupport
import Testing

/// Commits whose outcome is unknown: the connection ends before the answer comes, or the server does not wait for the
/// standby's confirmation, or it waits for too long. Nothing is repeated, nothing is answered as done, and a client that
/// retries gets one account.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct CommitLossTests {
    /// The connection of the service whose commit waits and that has written to a table. Workers of the service commit
    /// too, and write to none that is named here.
    private static func isCommitting(_ table: SQL, waiting event: String) -> SQL {
        """
        \(SQL.isOfService) AND wait_event = \(event) AND pid IN (
            SELECT pid FROM pg_locks WHERE relation = '\(table)'::regclass AND mode = 'RowExclusiveLock')
        """
    }

    private static func waits(_ condition: SQL, _ world: World) async throws -> Bool {
        try await world.count("SELECT count(*) FROM pg_stat_activity WHERE \(condition)") == 1
    }

    /// Where that took long, the service has begun to refuse writes.
    private func letCommitsGo(_ world: World) async throws {
        try await world.scratch.letCommitsGo()
        try await eventually("writes to be taken") { try await !world.service.holdsWrites() }
    }

    /// Calls a function of the server on the connection whose commit waits, and returns the answer to the request behind
    /// it.
    private func interruptCommit(
        _ condition: SQL, by function: SQL, _ world: World, _ ask: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        async let answer = ask()
        try await eventually("a commit that waits") { try await Self.waits(condition, world) }
        try await world.scratch.execute("SELECT \(function)(pid) FROM pg_stat_activity WHERE \(condition)")
        return try await answer
    }

    /// Terminates the connection whose COMMIT waits, and returns the answer to the request behind it.
    private func loseCommit(of ticket: String, waiting event: String, _ world: World) async throws -> Answer {
        try await interruptCommit(Self.isCommitting("accounts", waiting: event), by: "pg_terminate_backend", world) {
            try await world.service.create(ticket)
        }
    }

    /// A person who has yet to create an account: the ticket, and the credential for signing in again.
    private func newcomer(_ world: World) async throws -> (ticket: String, credential: World.Credential) {
        try await world.newPerson("kim")
        let credential = try await world.authorize("kim")
        return (try await world.service.signIn(.apple, credential.codeAlone).linkTicket(), credential)
    }

    /// What a client that retries finds after a creation that was carried out and answered 503.
    private func expectCreated(_ ticket: String, _ credential: World.Credential, _ world: World) async throws {
        #expect(try await world.service.create(ticket).status == 410)
        let answer = try await world.service.signIn(.apple, credential.tokenAlone)
        #expect(try answer.text("status") == "signedIn")
        #expect(try answer.text("identity.authorization") == "active")
        try await expectOneAccount(world)
    }

    private func expectOneAccount(_ world: World) async throws {
        let counts = try await world.count(
            """
            SELECT 1000000 * (SELECT count(*) FROM accounts) + 10000 * (SELECT count(*) FROM identities)
                + 100 * (SELECT count(*) FROM provider_grants)
                + (SELECT count(*) FROM link_tickets WHERE consumed_at IS NOT NULL)
            """)
        #expect(counts == 1_010_101)
    }

    @Test func `a creation whose commit was carried out and not answered has happened once`() async throws {
        try await World.onCluster { _, world in
            let (ticket, credential) = try await newcomer(world)
            try await world.scratch.makeCommitsWait()
            let lost = try await loseCommit(of: ticket, waiting: "SyncRep", world)
            try await letCommitsGo(world)
            lost.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...)
            try await expectCreated(ticket, credential, world)
        }
    }

    @Test func `a creation that the standby did not confirm is no success, and has happened once`() async throws {
        try await World.onCluster { _, world in
            let (ticket, credential) = try await newcomer(world)
            try await world.scratch.makeCommitsWait()
            // PostgreSQL answers this COMMIT with success and a warning.
            let unconfirmed = try await interruptCommit(
                Self.isCommitting("accounts", waiting: "SyncRep"), by: "pg_cancel_backend", world
            ) { try await world.service.create(ticket) }
            try await letCommitsGo(world)
            unconfirmed.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...)
            try await expectCreated(ticket, credential, world)
        }
    }

    @Test func `a sign-in that the standby did not confirm is no success`() async throws {
        try await World.onCluster { _, world in
            let (ticket, credential) = try await newcomer(world)
            try await world.service.create(ticket).expecting(201)
            let sessions = try await world.count("SELECT count(*) FROM sessions")
            try await world.scratch.makeCommitsWait()
            // A lone statement, which commits by itself.
            let unconfirmed = try await interruptCommit(
                Self.isCommitting("sessions", waiting: "SyncRep"), by: "pg_cancel_backend", world
            ) { try await world.service.signIn(.apple, credential.tokenAlone) }
            try await letCommitsGo(world)
            unconfirmed.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...)
            #expect(try await world.count("SELECT count(*) FROM sessions") == sessions + 1)
            #expect(try await world.service.signIn(.apple, credential.tokenAlone).status == 200)
            #expect(try await world.count("SELECT count(*) FROM sessions") == sessions + 2)
        }
    }

    @Test func `a creation whose commit waits for too long is answered 503, and its wait goes on`() async throws {
        try await World.onCluster { _, world in
            let (ticket, credential) = try await newcomer(world)
            try await world.scratch.makeCommitsWait()
            try await world.service.create(ticket).expectRefusal(503, "temporarily_unavailable", retryAfter: 1...)
            let condition = Self.isCommitting("accounts", waiting: "SyncRep")
            #expect(try await Self.waits(condition, world))
            // It waits for no standby, and says that they wait.
            try await eventually("readiness to show it") { try await world.service.holdsWrites() }
            try await letCommitsGo(world)
            try await eventually("the end of the wait") { try await !Self.waits(condition, world) }
            try await expectCreated(ticket, credential, world)
        }
    }

    @Test func `a creation whose commit was not carried out can be repeated`() async throws {
        try await World.onCluster { _, world in
            let (ticket, credential) = try await newcomer(world)
            // A deferred trigger runs in COMMIT.
            try await world.scratch.execute(
                """
                CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
                AS 'BEGIN PERFORM pg_sleep(50); RETURN NULL; END'
                """,
                """
                CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON accounts DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION wait()
                """)
            let lost = try await loseCommit(of: ticket, waiting: "PgSleep", world)
            try await world.scratch.execute("DROP TRIGGER wait ON accounts")
            lost.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...)

            #expect(try await world.count("SELECT count(*) FROM accounts") == 0)
            #expect(try await world.service.create(ticket).status == 201)
            let answer = try await world.service.signIn(.apple, credential.tokenAlone)
            #expect(try answer.text("identity.authorization") == "active")
            try await expectOneAccount(world)
        }
    }
}
