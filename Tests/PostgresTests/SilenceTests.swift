import Postgres
import TestSupport
import Testing

/// Servers that are not gone, but say nothing: a router that has forgotten the connection, a host without power.
@Suite(.timeLimit(.minutes(5)))
struct SilenceTests {
    /// A server behind a relay: the address that leads through it, and the directory of the server's own socket.
    private func withRelay(_ body: (Relay, _ url: String, _ directory: String) async throws -> Void) async throws {
        try await PrivateCluster.run { _, url in
            let directory = PrivateCluster.socketDirectory(url)
            let relay = try Relay(to: directory)
            defer { relay.stop() }
            try await body(relay, "postgresql://postgres@127.0.0.1:\(relay.port)/postgres", directory)
        }
    }

    @Test func `a server that falls silent is given up, and the next connection serves`() async throws {
        try await withRelay { relay, url, _ in
            let configuration = Database.Configuration.test(poolSize: 1, statementTimeout: .milliseconds(200))
            try await ScratchDatabase(url: url).withPool(configuration) { database in
                let before = try await backend(of: database)
                relay.swallow()
                let error = await failure { try await database.execute("SELECT 1") }
                #expect(error?.code == .connectionLost)
                #expect(error?.isTemporary == true)
                relay.recover()
                #expect(try await backend(of: database) != before)
            }
        }
    }

    @Test func `a commit that is not answered is neither done nor undone`() async throws {
        try await withRelay { relay, url, _ in
            let configuration = Database.Configuration.test(poolSize: 1, statementTimeout: .milliseconds(200))
            try await ScratchDatabase(url: url).withPool(configuration) { database in
                try await database.execute("CREATE TABLE t (n int)")
                let error = await failure {
                    try await database.transaction { transaction in
                        try await transaction.execute("INSERT INTO t VALUES (1)")
                        relay.swallow()
                    }
                }
                #expect(error?.code == .connectionLost)
                #expect(error?.operation == .commit)
                relay.recover()
                try await expect("SELECT count(*)::int4 FROM t", is: 0, in: database)
            }
        }
    }

    @Test func `a statement that runs for as long as it may is not taken for silence`() async throws {
        try await withRelay { relay, url, _ in
            let configuration = Database.Configuration.test(poolSize: 1, statementTimeout: .milliseconds(200))
            try await ScratchDatabase(url: url).withPool(configuration) { database in
                let error = await failure { try await database.execute("SELECT pg_sleep(60)") }
                #expect(error?.code == .server(sqlState: "57014"))
            }
        }
    }

    @Test func `a host that never answers leaves time for the next one`() async throws {
        try await withRelay { relay, _, directory in
            relay.swallow()
            let hosts = "host=127.0.0.1,\(directory) port=\(relay.port),5432 user=postgres dbname=postgres"
            var configuration = Database.Configuration.test(poolSize: 1, acquireTimeout: .seconds(30))
            configuration.connectTimeout = .seconds(2)
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
