import Postgres
import TestSupport

/// A cluster and its URL.
struct DatabaseServer: Sendable {
    let cluster: PrivateCluster
    let url: String
}

extension World {
    /// Runs one on a primary and its standby: the service has the URL of both, and uses the one that can be written to.
    static func onStandby(
        isDurable: Bool = false, _ settings: Countersign.Settings = [:],
        _ body: (_ primary: DatabaseServer, _ standby: DatabaseServer, World) async throws -> Void
    ) async throws {
        try await Sandbox.run { sandbox in
            try await PrivateCluster.run(isDurable: isDurable) { primary, url in
                try await primary.withStandby { standby, standbyURL in
                    let host = standbyURL.split(separator: "host=").last ?? ""
                    let both = ScratchDatabase(url: "\(url),\(host)&target_session_attrs=read-write")
                    try await serve(both, sandbox, settings, arguments: ["--migrate"]) { world in
                        try await body(
                            DatabaseServer(cluster: primary, url: url),
                            DatabaseServer(cluster: standby, url: standbyURL), world)
                    }
                }
            }
        }
    }
}

extension ScratchDatabase {
    /// Makes the standby confirm commits, and waits until it does.
    func confirmCommits() async throws {
        try await execute("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        try await eventually("the standby to confirm commits") {
            try await texts("SELECT sync_state FROM pg_stat_replication") == ["sync"]
        }
    }
}
