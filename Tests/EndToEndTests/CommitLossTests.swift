import JOSE
import Postgres
import TestSupport
import Testing

/// A connection that ends between COMMIT and its answer: the outcome of the transaction is unknown, so nothing is
/// repeated, and a client that retries gets one account.
@Suite(.limitedConcurrency, .timeLimit(.minutes(5))) struct CommitLossTests {
    private func service(_ body: (World) async throws -> Void) async throws {
        try await Sandbox.run { sandbox in
            try await World.registerClients(at: sandbox)
            try await PrivateCluster.run { _, url in
                let scratch = ScratchDatabase(url: url)
                try await Countersign.serve(World.settings(scratch, sandbox), arguments: ["--migrate"]) { service in
                    try await body(World(service: service, sandbox: sandbox, scratch: scratch))
                }
            }
        }
    }

    /// Terminates the connection whose COMMIT waits, and returns the answer to the request behind it.
    private func loseCommit(
        of ticket: String, waiting event: String, _ world: World
    ) async throws -> Answer {
        // Workers of the service commit too, and none of them has written an account.
        let condition: SQL = """
            application_name = 'countersign' AND query = 'COMMIT' AND wait_event = \(event) AND pid IN (
                SELECT pid FROM pg_locks WHERE relation = 'accounts'::regclass AND mode = 'RowExclusiveLock')
            """
        async let answer = world.service.post("/v1/links/create", ["linkTicket": .string(ticket)])
        try await eventually("a COMMIT that waits") {
            try await world.count("SELECT count(*) FROM pg_stat_activity WHERE \(condition)") == 1
        }
        try await world.scratch.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(condition)")
        return try await answer
    }

    private func expectUnavailable(_ answer: Answer) {
        #expect(answer.status == 503)
        #expect(answer.code == "temporarily_unavailable")
        #expect((answer.retryAfter ?? 0) >= 1)
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
        try await service { world in
            try await world.newPerson("kim")
            let credential = try await world.authorize("kim")
            let ticket = try await world.service.signIn(.apple, credential.codeAlone).text("linkTicket")
            // The commit is on this server's disk and waits for another server, which does not exist.
            for setting in ["synchronous_standby_names = 'nobody'", "synchronous_commit = 'on'"] {
                try await world.scratch.execute("ALTER SYSTEM SET \(unsafeSQL: setting)")
            }
            try await world.scratch.execute("SELECT pg_reload_conf()")
            try await eventually("the new settings") {
                try await world.count(
                    "SELECT count(*) FROM pg_settings WHERE name = 'synchronous_standby_names' AND setting = 'nobody'")
                    == 1
            }
            let lost = try await loseCommit(of: ticket, waiting: "SyncRep", world)
            try await world.scratch.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
            expectUnavailable(lost)

            #expect(try await world.service.post("/v1/links/create", ["linkTicket": .string(ticket)]).status == 410)
            let answer = try await world.service.signIn(.apple, credential.tokenAlone)
            #expect(try answer.text("status") == "signedIn")
            #expect(try answer.text("identity.authorization") == "active")
            try await expectOneAccount(world)
        }
    }

    @Test func `a creation whose commit was not carried out can be repeated`() async throws {
        try await service { world in
            try await world.newPerson("kim")
            let credential = try await world.authorize("kim")
            let ticket = try await world.service.signIn(.apple, credential.codeAlone).text("linkTicket")
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
            expectUnavailable(lost)

            #expect(try await world.count("SELECT count(*) FROM accounts") == 0)
            #expect(try await world.service.post("/v1/links/create", ["linkTicket": .string(ticket)]).status == 201)
            let answer = try await world.service.signIn(.apple, credential.tokenAlone)
            #expect(try answer.text("identity.authorization") == "active")
            try await expectOneAccount(world)
        }
    }
}
