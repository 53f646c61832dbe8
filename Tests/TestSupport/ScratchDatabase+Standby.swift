import Postgres
import Synchronization

extension ScratchDatabase {
    /// Makes every commit in the database's cluster, a private one, wait for a synchronous standby that does not exist. A
    /// commit is on the primary's disk when it waits. They wait from the moment on which this returns: the server shows
    /// the setting before all of its processes follow it, so commits are tried until one waits.
    package func makeCommitsWait() async throws {
        try await withPool(.test(poolSize: 1)) { database in
            try await database.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            try await database.execute("ALTER SYSTEM SET synchronous_commit = 'on'")
            try await database.execute("SELECT pg_reload_conf()")
            try await withPool(.test(poolSize: 1, applicationName: "commit-probe")) { probe in
                while try await !commitWaits(of: probe, seenBy: database) {}
            }
        }
    }

    /// Takes `makeCommitsWait` back: the commits that wait are answered.
    package func letCommitsGo() async throws {
        try await withPool(.test(poolSize: 1)) { database in
            try await database.execute("ALTER SYSTEM RESET synchronous_standby_names")
            try await database.execute("ALTER SYSTEM RESET synchronous_commit")
            try await database.execute("SELECT pg_reload_conf()")
        }
    }

    private final class Ending: Sendable {
        let hasCome = Atomic(false)
    }

    /// Commits once. Returns whether the commit waited, until its wait was cancelled.
    private func commitWaits(of probe: Database, seenBy database: Database) async throws -> Bool {
        let ending = Ending()
        let commit = Task {
            _ = try? await probe.execute("SELECT pg_logical_emit_message(true, 'probe', '')")
            ending.hasCome.store(true, ordering: .releasing)
        }
        while !ending.hasCome.load(ordering: .acquiring) {
            let cancelled = try await database.execute(
                """
                SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                WHERE application_name = 'commit-probe' AND wait_event = 'SyncRep'
                """)
            if cancelled > 0 {
                await commit.value
                return true
            }
            try await pollingPause()
        }
        return false
    }
}
