import Glibc
package import Logging
import Primitives
import Synchronization

/// A connection of its own that listens to one channel of PostgreSQL's notifications, as long as it is wanted.
///
/// A notification may get lost with a connection, so it also reports when it listens again; and a pooler in transaction mode
/// passes none on. Who waits for one has to look by themselves too, from time to time.
package final class NotificationListener: Sendable {
    private let parameters: ConnectionParameters?
    private let channel: StaticString
    private let connectTimeout: Duration
    private let logger: Logger
    private let signal = WakeSignal()
    private let isWanted = Atomic(true)
    private let onNotification: @Sendable () -> Void

    /// - Parameter channel: a name in lower case.
    package init(
        _ channel: StaticString, configuration: Database.Configuration, logger: Logger,
        onNotification: @escaping @Sendable () -> Void
    ) {
        parameters = ConnectionParameters(configuration)
        connectTimeout = configuration.connectTimeout
        self.channel = channel
        self.logger = logger
        self.onNotification = onNotification
    }

    /// - Returns: `false` when the system can't make another thread.
    package func start() -> Bool { DedicatedThread.start("pg-listen", stackBytes: 512 * 1024) { self.run() } }

    package func stop() {
        isWanted.store(false, ordering: .releasing)
        signal.raise()
    }

    private var mayGoOn: Bool { isWanted.load(ordering: .acquiring) }

    private func run() {
        var backoff = Backoff()
        while mayGoOn {
            for host in parameters?.hosts ?? [] where mayGoOn {
                do throws(PostgresError) {
                    let connection = try LibpqConnection.connect(
                        host, until: .now + connectTimeout, signal: signal, logger: logger, isWanted: { mayGoOn })
                    if listen(on: connection) { backoff.reset() }
                } catch {
                    logger.debug("no notifications", metadata: ["error": "\(error.debugDescription)"])
                }
            }
            let end = ContinuousClock.now + backoff.next()
            while ContinuousClock.now < end, mayGoOn { _ = signal.wait(until: end) }
        }
    }

    /// - Returns: whether it listened, before the connection was lost.
    private func listen(on connection: borrowing LibpqConnection) -> Bool {
        guard connection.exitPipeline(), connection.sendScript("LISTEN \(channel)") else { return false }
        var listens = false
        while mayGoOn {
            guard let hasBacklog = connection.flush() else { return listens }
            _ = signal.wait(socket: connection.socket, events: Int32(hasBacklog ? POLLIN | POLLOUT : POLLIN))
            guard connection.consumeInput() else { return listens }
            var hasNews = connection.takeNotifications()
            if !listens, !connection.isBusy {
                while let result = connection.nextResult() {
                    guard result.status == .commandOK else { return false }
                    listens = true
                }
                // What came before it listened came unheard.
                hasNews = true
            }
            if hasNews { onNotification() }
        }
        return listens
    }
}
