import Logging

/// A notice of the server: what it says beside the results.
struct ServerNotice {
    /// In English, whatever the server's language.
    let severity: String
    let sqlState: String
    /// In the server's language.
    let message: String
    /// The function and the file of the server's source that wrote it.
    let function: String
    let file: String

    /// Whether the server stopped waiting for a synchronous standby and committed without its confirmation. It then
    /// reports success, and but for this warning the commit looks like a confirmed one: a failover may take it back.
    ///
    /// Neither its SQLSTATE (01000, any warning) nor its text, which is translated, identifies it, and only a superuser
    /// may choose the language. The place in the server's source comes with every message and has been the same since
    /// PostgreSQL 9.1.
    var isUnconfirmedCommit: Bool { severity == "WARNING" && (function == "SyncRepWaitForLSN" || file == "syncrep.c") }
}

/// The receiver of a connection's notices. They go to the log at debug level, since they are for developers and their
/// text is not under our control; but for the one that changes the outcome of a commit. Used by one thread.
final class NoticeReceiver {
    private let logger: Logger
    private var hasUnconfirmedCommit = false

    init(logger: Logger) { self.logger = logger }

    func receive(_ notice: ServerNotice) {
        let isUnconfirmedCommit = notice.isUnconfirmedCommit
        if isUnconfirmedCommit { hasUnconfirmedCommit = true }
        logger.log(
            level: isUnconfirmedCommit ? .warning : .debug,
            isUnconfirmedCommit ? "commit not confirmed by a standby" : "database notice received",
            metadata: [
                "severity": "\(notice.severity)", "sqlState": "\(notice.sqlState)", "notice": "\(notice.message)",
            ])
    }

    func takeUnconfirmedCommit() -> Bool {
        defer { hasUnconfirmedCommit = false }
        return hasUnconfirmedCommit
    }
}
