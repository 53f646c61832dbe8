package import Postgres
import Testing

/// For a transaction or a leased connection, which holds locks.
extension PostgresSession {
    /// Whether another session waits for a lock of this one.
    package func isWaitedFor() async throws -> Bool {
        try await query(
            """
            SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))
            """, as: Bool.self)[0]
    }

    /// Returns when that many other sessions wait for a lock of this one, or for one of those that wait so.
    package func awaitWaiters(_ count: Int64 = 1) async throws {
        let end = ContinuousClock.now + .seconds(300)
        while try await waiters() < count {
            try #require(ContinuousClock.now < end, "fewer than \(count) sessions wait for a lock of this one")
            try await pollingPause()
        }
    }

    /// The number of other sessions that wait for a lock of this one, or for one of those that wait so.
    package func waiters() async throws -> Int64 {
        // Not by pg_stat_activity, which stays as a transaction has first seen it.
        try await number(
            """
            WITH RECURSIVE waiting AS (
                SELECT DISTINCT pid, pg_blocking_pids(pid) AS blockers FROM pg_locks WHERE NOT granted
            ), behind (pid) AS (
                SELECT pg_backend_pid()
                UNION
                SELECT w.pid FROM waiting w JOIN behind b ON b.pid = ANY (w.blockers)
            )
            SELECT count(*) - 1 FROM behind
            """)
    }
}
