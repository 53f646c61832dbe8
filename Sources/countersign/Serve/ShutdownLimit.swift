import Glibc
import Logging
import ServiceLifecycle

/// The limit on the duration of a shutdown. Work that still runs then is abandoned, as by a kill: its claim in the
/// database lapses after `RevocationWorker.lease` or `MailWorker.lease` at most, and another process takes it over.
///
/// It has to be the last service of its group, since that one is notified of the shutdown first.
struct ShutdownLimit: Service, CustomStringConvertible {
    /// The longest time from the end of the drain to the end of the process. Operators rely on it.
    static let afterDrain = Duration.seconds(30)
    /// The part of it for requests in flight on the public listener.
    static let forRequests = Duration.seconds(20)
    /// The part of the rest for requests on the private listeners, which outlive the public one.
    static let forPrivateListeners = Duration.seconds(5)
    /// The rest, before the end.
    static let forEnding = afterDrain - forRequests - forPrivateListeners

    /// The time from the signal.
    let limit: Duration
    let logger: Logger
    /// Ends what is in memory alone, and is lost with the process. The services that do so themselves may yet wait for work
    /// of others. Begins ``forEnding`` before the limit, which doesn't wait for it.
    let ending: @Sendable () async -> Void
    /// Exits with success: the operator asked for the end, and no work is lost by it.
    var exit: @Sendable () -> Void = { _exit(EXIT_SUCCESS) }

    /// Its name in the log.
    var description: String { "shutdown limit" }

    func run() async throws {
        do {
            try await gracefulShutdown()
        } catch {
            // Cancelled: another service has failed, which ends the group without a graceful shutdown.
            return
        }
        let end = ContinuousClock.now + limit
        Task.detached {
            try? await Task.sleep(until: end - Self.forEnding, clock: .continuous)
            await ending()
        }
        Task.detached {
            try? await Task.sleep(until: end, clock: .continuous)
            logger.warning("shutdown cut short", metadata: ["after": "\(limit)"])
            exit()
        }
    }
}
