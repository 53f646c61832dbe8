import Accounts
import Logging
import SignIn
import Storage
import TestSupport

extension ServiceDatabase {
    func sweeper(
        clock: ManualClock, lifetimes: SessionLifetimes = SessionLifetimes(unused: 5_184_000), logger: Logger = .silent
    ) -> RetentionSweeper { RetentionSweeper(database: self, lifetimes: lifetimes, clock: clock, logger: logger) }
}
