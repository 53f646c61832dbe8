import TestSupport
import Testing

@testable import Postgres

/// Servers that are silent: behind a router that dropped the connection's state, or on a host without power.
@Suite(.sharedFixture(SuiteCluster.self), .timeLimit(.minutes(5))) struct SilenceTests {
    /// Puts a relay before the server: the URL of a database behind it, and the directory of the server's own socket.
    private func withRelay(_ body: (Relay, _ url: String, _ directory: String) async throws -> Void) async throws {
        let cluster = SuiteCluster.current
        let name = try await cluster.makeDatabase()
        let directory = PrivateCluster.socketDirectory(cluster.url)
        let relay = try Relay(to: directory)
        defer { relay.stop() }
        try await body(relay, "postgresql://postgres@127.0.0.1:\(relay.port)/\(name)", directory)
    }

    /// Runs a closure with a pool behind a relay.
    private func withPool(
        _ configuration: Database.Configuration, _ body: (Database, Relay) async throws -> Void
    ) async throws {
        try await withRelay { relay, url, _ in
            try await ScratchDatabase(url: url).withPool(configuration) { try await body($0, relay) }
        }
    }

    @Test func `a server that falls silent is given up, and the next connection serves`() async throws {
        try await withPool(.test(poolSize: 1, statementTimeout: .seconds(2))) { database, relay in
            let before = try await backend(of: database)
            relay.discard()
            await expectFailure(.connectionLost) { try await database.execute("SELECT 1") }
            relay.recover()
            #expect(try await backend(of: database) != before)
        }
    }

    @Test func `a commit that is not answered is neither done nor undone`() async throws {
        try await withPool(.test(poolSize: 1, statementTimeout: .seconds(2))) { database, relay in
            try await database.execute("CREATE TABLE t (n int)")
            await expectFailure(.connectionLost, of: .commit) {
                try await database.transaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    relay.discard()
                }
            }
            relay.recover()
            try await expect("SELECT count(*)::int4 FROM t", is: 0, in: database)
        }
    }

    @Test func `a statement of a transaction that is not answered in time ends the transaction`() async throws {
        try await withPool(.test(poolSize: 1, answerTimeout: .seconds(3))) { database, relay in
            _ = try await Database.inBackground { try await database.execute("CREATE TABLE t (n int)") }
            await expectFailure(.connectionLost, of: .execute) {
                try await database.transaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    relay.discard()
                    try await transaction.execute("INSERT INTO t VALUES (2)")
                }
            }
            relay.recover()
            try await Database.inBackground { try await expect("SELECT count(*)::int4 FROM t", is: 0, in: database) }
        }
    }

    @Test func `a caller that has waited before has had that part of its time`() async throws {
        // All of it would be longer than the silence by which a server counts as lost.
        let configuration = Database.Configuration.test(
            poolSize: 1, acquireTimeout: .seconds(599), answerTimeout: .seconds(600))
        try await withPool(configuration) { database, relay in
            try await database.execute("SELECT 1")
            relay.discard()
            await expectFailure(.outcomeUnknown) {
                try await Database.acquiring(by: .now + .seconds(1)) { try await database.execute("SELECT 1") }
            }
            // Otherwise the shutdown would wait for the statement.
            relay.stop()
        }
    }

    @Test func `what runs in the background may take as long as the server lets it`() async throws {
        try await ScratchDatabase.withFreshPool(.test(poolSize: 1, answerTimeout: .milliseconds(100))) { database in
            try await Database.inBackground {
                try await expect("SELECT 7 FROM pg_sleep(1)", is: 7, in: database)
                try await database.transaction { transaction in
                    try await expect("SELECT 7 FROM pg_sleep(1)", is: 7, in: transaction)
                }
            }
            await expectFailure(.outcomeUnknown) { try await database.execute("SELECT pg_sleep(1)") }
        }
    }

    @Test func `a statement that runs for as long as it may is not taken for silence`() async throws {
        try await withPool(.test(poolSize: 1, statementTimeout: .seconds(2))) { database, _ in
            await expectFailure(.server(sqlState: "57014")) { try await database.execute("SELECT pg_sleep(60)") }
        }
    }

    @Test func `the limit that the URL's options set is the one that the server keeps`() async throws {
        try await ScratchDatabase.withFresh { scratch in
            for (limit, milliseconds) in [("0", 0), ("60s", 60_000)] {
                let separator = scratch.url.contains("?") ? "&" : "?"
                let url = "\(scratch.url)\(separator)options=-c%20statement_timeout%3D\(limit)"
                let configuration = Database.Configuration.test(poolSize: 1, statementTimeout: .seconds(2))
                try await ScratchDatabase(url: url).withPool(configuration) { database in
                    try await expect(
                        "SELECT setting::int4 FROM pg_settings WHERE name = 'statement_timeout'", is: milliseconds,
                        in: database)
                }
            }
        }
    }

    @Test(
        arguments: [
            ("-c statement_timeout=0", nil), ("-cstatement_timeout=60000", 62_000),
            ("--statement-timeout=1min", 62_000),
            ("-c statement_timeout=5s -c STATEMENT_TIMEOUT=1.5\\ s", 3500), ("-c work_mem=1MB", 12_000), ("", 12_000),
            ("-c statement_timeout=250us", nil), ("-c statement_timeout=-1", nil), ("-c statement_timeout=x", nil),
            ("-c", 12_000), ("-c statement_timeout", 12_000), ("-c lock_timeout=1s --statement_timeout=1h", 3_602_000),
        ] as [(String, Int64?)])
    func `silence is measured by the limit that the server keeps`(options: String, milliseconds: Int64?) {
        let text = options.replacing("\\", with: "\\\\")
        let configuration = Database.Configuration(url: "host=/nowhere options='\(text)'")
        #expect(configuration.silenceLimit == milliseconds.map { .milliseconds($0) })
    }

    @Test func `a host that never answers leaves time for the next one`() async throws {
        try await withRelay { relay, _, directory in
            relay.discard()
            let hosts = "host=127.0.0.1,\(directory) port=\(relay.port),5432 user=postgres dbname=postgres"
            let configuration = Database.Configuration.test(
                poolSize: 1, acquireTimeout: .seconds(30), connectTimeout: .seconds(2))
            try await ScratchDatabase(url: hosts).withPool(configuration) { database in
                try await expect("SELECT 7", is: 7, in: database)
            }
        }
    }

    @Test func `a host that takes no writes is passed over for one that does`() async throws {
        try await PrivateCluster.run { cluster, primary in
            try await cluster.withStandby { _, standby in
                let hosts = [standby, primary].map(PrivateCluster.socketDirectory).joined(separator: ",")
                let url = "host=\(hosts) user=postgres dbname=postgres target_session_attrs=read-write"
                try await ScratchDatabase(url: url).withPool { database in
                    try await database.execute("CREATE TABLE t ()")
                    try await expect("SELECT count(*)::int4 FROM t", is: 0, in: database)
                }
            }
        }
    }
}
