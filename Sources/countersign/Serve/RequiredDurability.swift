import Logging
import Storage

/// What `serve` asks of the server's durability, at its start.
struct RequiredDurability {
    /// The server would answer for commits that a crash takes back. Says what to do.
    struct Fault: Error, CustomStringConvertible {
        let gap: Durability.Gap

        var description: String {
            "\(gap): run `ALTER ROLE … SET synchronous_commit = on`, for the role of postgres.url."
        }
    }

    /// What is no reason to refuse, and to be told.
    let warnings: [Durability.Gap]

    /// Refuses what would break a promise with any crash of the server. A server whose files don't survive one at all is
    /// for tests, and one that is ahead of its standby is somebody's decision: both are told.
    init(_ durability: Durability) throws(Fault) {
        var warnings: [Durability.Gap] = []
        for gap in durability.gaps {
            switch gap {
            case .commitNotAwaited: throw Fault(gap: gap)
            case .unsafeFiles, .standbyNotAwaited: warnings.append(gap)
            }
        }
        self.warnings = warnings
    }
}
