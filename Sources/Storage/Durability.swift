/// The settings that decide what a commit survives, as the service's role sees them.
package struct Durability: Sendable {
    package let fsync: Bool
    package let fullPageWrites: Bool
    /// `on`, `remote_apply`, `remote_write`, `local` or `off`.
    package let synchronousCommit: String
    package let hasSynchronousStandby: Bool

    /// A setting by which an answered change may be lost.
    package enum Gap: Sendable, CustomStringConvertible {
        /// A setting is off without which a crash of the machine may corrupt the files.
        case unsafeFiles(setting: String)
        /// The server acknowledges a commit before it has written it.
        case commitNotAwaited
        /// The server has a synchronous standby, and acknowledges a commit before the standby has written it.
        case standbyNotAwaited(level: String)

        package var description: String {
            switch self {
            case .unsafeFiles(let setting): "\(setting) is off: a crash of the machine may ruin the database"
            case .commitNotAwaited:
                "synchronous_commit is off: a crash may take back a revocation that was answered"
            case .standbyNotAwaited(let level):
                "synchronous_commit is \(level): a failover may take back what was answered"
            }
        }
    }

    package var gaps: [Gap] {
        let files = [("fsync", fsync), ("full_page_writes", fullPageWrites)].filter { !$0.1 }
        var gaps = files.map { Gap.unsafeFiles(setting: $0.0) }
        switch synchronousCommit {
        case "on", "remote_apply": break
        case "off": gaps.append(.commitNotAwaited)
        case let level: if hasSynchronousStandby { gaps.append(.standbyNotAwaited(level: level)) }
        }
        return gaps
    }
}
