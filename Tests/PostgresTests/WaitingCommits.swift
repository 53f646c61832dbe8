import Postgres
import TestSupport

/// A cluster whose commits wait for a synchronous standby that does not exist.
struct WaitingCommits: TestFixture {
    private let cluster: SuiteCluster

    /// The condition that a commit of the test's pool waits.
    static let areThere: SQL = """
        EXISTS (
            SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'waiting' AND wait_event = 'SyncRep'
        )
        """

    static func run(_ body: (WaitingCommits) async throws -> Void) async throws {
        try await SuiteCluster.run { cluster in
            try await ScratchDatabase(url: cluster.url).makeCommitsWait()
            try await body(WaitingCommits(cluster: cluster))
        }
    }

    /// Runs a closure with a pool whose commits wait, and one to observe it, on a database with an empty table.
    ///
    /// - Parameter options: added to the URL of the pool.
    func withPools(
        _ configuration: Database.Configuration = .test(poolSize: 1), options: String = "",
        _ body: (_ database: Database, _ observer: Database) async throws -> Void
    ) async throws {
        var configuration = configuration
        configuration.applicationName = "waiting"
        let url = cluster.url(of: try await cluster.makeDatabase())
        try await ScratchDatabase(url: url + SuiteCluster.localCommits).withPool(.test(poolSize: 1)) { observer in
            try await observer.execute("CREATE TABLE t (n int8)")
            try await ScratchDatabase(url: url + options).withPool(configuration) { database in
                try await body(database, observer)
            }
        }
    }

    /// Lets those that wait go. Only for a test with a cluster of its own.
    func letGo() async throws { try await ScratchDatabase(url: cluster.url).letCommitsGo() }
}
