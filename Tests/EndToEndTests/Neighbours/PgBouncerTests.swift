import Foundation
import JSON
import Postgres
import TestSupport
import Testing

extension Neighbours {
    /// The real PgBouncer in transaction mode between the service and the database, set up according to
    /// docs/operations/pgbouncer.md.
    @Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct PgBouncerTests {
        private static let page = Neighbours.root.appending(path: "docs/operations/pgbouncer.md")

        /// The lines of the page's block in this language, which the tests follow to the letter.
        private static func documented(_ language: String) throws -> [String] {
            let lines = try String(contentsOf: page, encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false)
            let block = lines.drop { $0 != "```\(language)" }.dropFirst().prefix { $0 != "```" }
            try #require(!block.isEmpty)
            return block.map(String.init)
        }

        /// Writes a configuration with fewer connections to the server than the service has to PgBouncer, so that
        /// transactions share them.
        private static func prepare(_ directory: URL, port: UInt16, cluster url: String) throws -> [String] {
            let users = directory.appending(path: "users.txt")
            let settings = directory.appending(path: "pgbouncer.ini")
            let documented = try documented("ini").drop { $0 != "[pgbouncer]" }
            let text = """
                [databases]
                * = host=\(PrivateCluster.socketDirectory(url))
                \(documented.joined(separator: "\n"))
                listen_addr = 127.0.0.1
                listen_port = \(port)
                unix_socket_dir =
                auth_type = trust
                auth_file = \(users.path)
                default_pool_size = 3
                """
            for (file, content) in [(users, #""postgres" """#), (settings, text)] {
                // Readable for the user that it runs as.
                try Data(content.utf8).write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
            }
            // It refuses to run as root.
            return (getuid() == 0 ? ["-u", "postgres"] : []) + [settings.path]
        }

        /// Runs a cluster, with the role's settings, and PgBouncer in front of it.
        private func pooler(
            _ body: (PrivateCluster, _ pooled: ScratchDatabase, _ direct: ScratchDatabase) async throws -> Void
        ) async throws {
            try await PrivateCluster.run { cluster, url in
                let direct = ScratchDatabase(url: url)
                for setting in try Self.documented("sql") {
                    let statement = setting.replacing("ROLE countersign", with: "ROLE postgres")
                    try await direct.execute("\(unsafeSQL: statement)")
                }
                let port = try FreePort.choose(1)[0]
                try await SideProcess.run(
                    "/usr/sbin/pgbouncer", prepare: { try Self.prepare($0, port: port, cluster: url) }
                ) { pooler in
                    let pooled = ScratchDatabase(url: "postgresql://postgres@127.0.0.1:\(port)/postgres")
                    try await body(cluster, pooled, direct)
                    #expect(pooler.isRunning)
                }
            }
        }

        private func service(_ body: (PrivateCluster, World) async throws -> Void) async throws {
            try await Sandbox.run { sandbox in
                try await World.registerClients(at: sandbox)
                try await pooler { cluster, pooled, direct in
                    let settings = [
                        "postgres.url": pooled.url, "postgres.migrationUrl": direct.url,
                        "postgres.preparedStatements": "false", "postgres.poolSize": "8",
                    ]
                    try await World.serve(direct, sandbox, settings, arguments: ["--migrate"]) { world in
                        try await body(cluster, world)
                    }
                }
            }
        }

        @Test func `behind PgBouncer the role's settings are in force in place of the options`() async throws {
            try await pooler { _, pooled, direct in
                try await direct.execute("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
                try await pooled.withPool(.test(poolSize: 1, preparedStatements: false)) { database in
                    let found = try await database.query(
                        """
                        SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout'),
                            current_setting('idle_in_transaction_session_timeout'), current_setting('plan_cache_mode'),
                            current_setting('jit'), current_setting('client_min_messages'),
                            current_setting('transaction_isolation'))
                        """, as: String.self)
                    #expect(found == ["10s 4s 10s force_generic_plan off notice read committed"])
                }
            }
        }

        @Test func `behind PgBouncer a commit that the standby did not confirm is no success`() async throws {
            try await pooler { _, pooled, direct in
                try await direct.execute("CREATE TABLE t (n int8)")
                try await direct.makeCommitsWait()
                try await pooled.withPool(.test(poolSize: 1, preparedStatements: false)) { database in
                    let task = Task { () -> PostgresError.Code? in
                        do throws(PostgresError) {
                            _ = try await database.execute("INSERT INTO t VALUES (1)")
                            return nil
                        } catch {
                            return error.code
                        }
                    }
                    try await direct.withPool(.test(poolSize: 1)) { observer in
                        try await eventually("a commit that waits") {
                            try await observer.execute(
                                """
                                SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                                WHERE query LIKE 'INSERT INTO t%' AND wait_event = 'SyncRep'
                                """) == 1
                        }
                    }
                    #expect(await task.value == .outcomeUnknown)
                }
            }
        }

        @Test func `behind PgBouncer people sign in, bind, refresh, unlink and sign out, and workers do their work`()
            async throws
        {
            try await service { _, world in
                let service = world.service
                let created = try await world.newGrantedAccount("kim")
                let access = try created.bearer()
                let google = try await service.signIn(.google, try await world.authorize("kim", .google).codeAlone)
                let bound = try await service.bind(try google.linkTicket(), bearer: access)
                let session = try bound.bearer()
                #expect(try await service.get("/v1/account/identities", bearer: session).items.count == 2)

                let token = try await world.appleToken("kim")
                let statuses = try await concurrently(0..<60) { _ in try await service.signInWithApple(token).status }
                #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
                let refresh = try bound.refreshToken()
                try await service.refresh(refresh).expecting(200)

                let apple = try created.identityID()
                #expect(try await service.delete("/v1/account/identities/\(apple)", bearer: session).status == 202)
                try await eventually("the revocation") { try await world.grants(of: "kim").map(\.endedBy) == [.revoke] }
                try await eventually("the seal of the audit trail") {
                    try await world.count("SELECT count(*) FROM audit_seals") > 0
                }
                try await service.signOut("all", bearer: session).expecting(204)
                #expect(try await service.get("/v1/account", bearer: session).status == 401)
            }
        }

        /// With `postgres.preparedStatements` forgotten.
        @Test func `behind PgBouncer a prepared statement is executed by none that is another`() async throws {
            try await pooler { _, pooled, _ in
                try await pooled.withPool(.test(poolSize: 8)) { database in
                    let found = try await concurrently(0..<2000) { index in
                        try await database.query("SELECT \(unsafeSQL: "\(index % 20)")", as: Int.self)
                    }
                    #expect(found == (0..<2000).map { [$0 % 20] })
                }
            }
        }

        @Test func `behind PgBouncer prepared statements are a warning of the doctor and of the start`() async throws {
            try await pooler { _, pooled, direct in
                let settings = [
                    "postgres.url": pooled.url, "postgres.migrationUrl": direct.url,
                    "apple.keysUrl": "http://127.0.0.1:1/", "google.keysUrl": "http://127.0.0.1:1/",
                ]
                let start = try Countersign.begin(["serve", "--migrate"], settings)
                try await eventually("the warning") { start.log.contains("prepared statements behind a pooler") }
                start.send(SIGTERM)
                _ = await start.end()

                func found(_ value: String) async throws -> [Substring] {
                    let settings = settings.merging(["postgres.preparedStatements": value]) { $1 }
                    let ending = try await Countersign.run(["doctor"], settings)
                    return ending.output.split(separator: "\n").filter { $0.contains(" pooler: ") }
                }
                let forgotten = try await found("true")
                #expect(forgotten.count == 1 && forgotten[0].hasPrefix("warning pooler: a pooler stands in between"))
                let known = try await found("false")
                #expect(known.count == 1 && known[0].hasPrefix("ok      pooler: a pooler stands in between"))
            }
        }

        private static func isUp(_ world: World) async throws -> Bool? {
            let lines = try await world.service.privateGet("/metrics").text.split(separator: "\n")
            return lines.first { $0.hasPrefix("countersign_postgres_up ") }.map { $0.hasSuffix(" 1") }
        }

        /// PgBouncer takes connections all the same, and closes each at its first statement.
        @Test func `behind PgBouncer a database that is down is seen to be, and the log says so once`() async throws {
            try await service { cluster, world in
                let created = try await world.newAccount("kim")
                let access = try created.bearer()
                let before = try await Self.isUp(world)
                #expect(before == true)
                let failures = { () throws -> Int in
                    try world.service.logLines().count {
                        $0["message"]?.string?.hasPrefix("database connection ") == true
                    }
                }

                try await cluster.stop()
                try await eventually("the gauge to be 0") { try await Self.isUp(world) == false }
                let known = try failures()
                for _ in 0..<20 {
                    let answer = try await world.service.get("/v1/account", bearer: access)
                    answer.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...)
                    let isUp = try await Self.isUp(world)
                    #expect(isUp == false)
                }
                // The connection of readiness is another pool's.
                let lines = try failures()
                #expect(lines <= known + 1)

                _ = try await cluster.start()
                try await world.scratch.awaitWrites(of: "postgres")
                try await world.awaitService(access)
                try await eventually("the gauge to be 1") { try await Self.isUp(world) == true }
            }
        }

        /// Statements of many callers on few connections, some of them in transactions, must not mix.
        @Test func `behind PgBouncer one of fifty binds at once succeeds`() async throws {
            try await service { _, world in
                let created = try await world.newAccount("kim")
                let access = try created.bearer()
                let google = try await world.signIn("kim", with: .google)
                let ticket = try google.linkTicket()
                let statuses = try await concurrently(0..<50) { _ in
                    try await retryWhenLate {
                        try await world.service.bind(ticket, bearer: access)
                    }.status
                }
                #expect(statuses.allSatisfy { [200, 410].contains($0) }, "\(statuses)")
                #expect(statuses.count { $0 == 200 } == 1)
            }
        }
    }
}
