import Storage

/// The durability of the database server that `serve` requires at its start.
struct RequiredDurability {
    /// The server acknowledges commits that a crash can undo. The description says what to do.
    struct Fault: Error, CustomStringConvertible {
        let gap: Durability.Gap

        var description: String {
            "\(gap): run `ALTER ROLE … SET synchronous_commit = on`, for the role of postgres.url."
        }
    }

    /// The gaps that are no reason to refuse, and are logged.
    let warnings: [Durability.Gap]

    /// Refuses a server on which any crash can undo what was answered. One whose files don't survive a crash of the
    /// machine is for tests, and commits that don't wait for a standby are the operator's decision: both are warnings.
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
