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

    /// Returns when another session waits for a lock of this one.
    package func awaitWaiter() async throws {
        let end = ContinuousClock.now + .seconds(300)
        while try await !isWaitedFor() {
            try #require(ContinuousClock.now < end, "no session waits for a lock of this one")
            try await pollingPause()
        }
    }
}
