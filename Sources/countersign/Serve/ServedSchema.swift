import Logging
import Migrator
import Synchronization

/// The schema under a running service, which a later release or `migrate down` can change at any time.
final class ServedSchema: Sendable {
    private let migrator: Migrator
    private let logger: Logger
    private let reported = Mutex<String?>(nil)

    init(migrator: Migrator, logger: Logger) {
        self.migrator = migrator
        self.logger = logger
    }

    /// Throws if the schema can't be served on. Readiness asks about every second, so a fault is logged only when it is
    /// new.
    func require() async throws {
        let fault = try await migrator.servingFaults().first
        let sentence = fault?.description
        let isNew = reported.withLock { reported in
            defer { reported = sentence }
            return sentence != reported
        }
        guard let fault else { return }
        if isNew { logger.error("\(fault)") }
        throw fault
    }
}
