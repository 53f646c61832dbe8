import Accounts
import Foundation

/// The wall clock of this machine, in microseconds.
struct SystemClock: WallClock {
    func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}
