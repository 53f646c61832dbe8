import Logging
import Migrator
import Synchronization

/// The schema that a running service stands on. Somebody may change it at any time: a later release, or `migrate down`.
final class ServedSchema: Sendable {
    private let migrator: Migrator
    private let logger: Logger
    private let reported = Mutex<String?>(nil)

    init(migrator: Migrator, logger: Logger) {
        self.migrator = migrator
        self.logger = logger
    }

    /// Refuses a schema that can't be served on. Readiness asks every second or so, so a fault is logged when it comes up.
    func require() async throws {
        let fault = try await migrator.faultsOfService().first
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
