import Accounts
import Logging
import Postgres
import SignIn
import Storage
import TestSupport

extension ServiceDatabase {
    func sweeper(
        clock: ManualClock, lifetimes: SessionLifetimes = SessionLifetimes(unused: 5_184_000), logger: Logger = .silent
    ) -> RetentionSweeper { RetentionSweeper(database: self, lifetimes: lifetimes, clock: clock, logger: logger) }

    /// Lets so many seconds of the claims in the outbox pass, which end by the database's clock.
    func age(claimsBy seconds: Int64) async throws {
        try await pool.execute("UPDATE outbox SET claimed_until = claimed_until - \(seconds) * interval '1 second'")
    }
}
