import Glibc
import Logging
import ServiceLifecycle

/// How long a shutdown may take. Whatever still goes on then is given up, as by a kill: what it worked on is claimed in
/// the database for `RevocationWorker.lease` and `MailWorker.lease` at most, and falls to the next process.
///
/// The last service of a group, for that one learns of the shutdown first.
struct ShutdownLimit: Service, CustomStringConvertible {
    /// From the end of the drain to that of the process: what whoever runs it may count on.
    static let afterDrain = Duration.seconds(30)
    /// Of it, for the requests that are in flight on the public listener.
    static let forRequests = Duration.seconds(20)
    /// Of the rest, for those on the listeners that outlive it.
    static let forOperators = Duration.seconds(5)

    /// From the signal.
    let limit: Duration
    let logger: Logger
    /// Exits with success: the operator asked for the end, and nothing is lost by it.
    var exit: @Sendable () -> Void = { _exit(EXIT_SUCCESS) }

    /// What the log calls it.
    var description: String { "shutdown limit" }

    func run() async throws {
        do {
            try await gracefulShutdown()
        } catch {
            // Cancelled: a service has failed, and no shutdown is what ends the others.
            return
        }
        Task.detached {
            try? await Task.sleep(for: limit)
            logger.warning("the shutdown was cut short", metadata: ["after": "\(limit)"])
            exit()
        }
    }
}
