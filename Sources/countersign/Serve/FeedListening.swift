import Logging
import Postgres
import ServiceLifecycle
import Storage
import Webhooks

/// Listens for the news of other processes' events. It ends with the private listener, where those who wait for events are
/// answered then: who is answered sooner asks again at once.
struct FeedListening: Service {
    let news: FeedNews
    let database: DatabaseConfiguration
    let logger: Logger

    func run() async throws {
        let listener = NotificationListener(
            FeedStore.channel, configuration: .service(database), logger: logger, onNotification: news.announce)
        guard listener.start() else { throw ListenerFailed() }
        try? await gracefulShutdown()
        news.end()
        listener.stop()
    }

    /// The system made no thread for the listener.
    struct ListenerFailed: Error, CustomStringConvertible {
        var description: String {
            """
            No thread is left for the notifications of the database: see the limit of processes (`ulimit -u`, \
            `TasksMax=`).
            """
        }
    }
}
