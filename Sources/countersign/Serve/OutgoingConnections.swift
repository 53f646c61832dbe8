import Curl
import Logging
import Postgres

/// What `serve` opens to others: to the database, to the providers and to the receivers of webhooks.
struct OutgoingConnections: Sendable {
    let database: Database
    /// Of the readiness checks.
    let healthDatabase: Database
    let fetcher: CurlFetcher
    let webhookFetcher: CurlFetcher

    init(_ configuration: DatabaseConfiguration, logger: Logger) throws {
        database = Database(configuration: .service(configuration), logger: logger)
        healthDatabase = Database(configuration: .health(configuration), logger: logger)
        fetcher = try CurlFetcher()
        webhookFetcher = try CurlFetcher(configuration: .webhooks)
    }

    func close() async {
        await fetcher.shutdown()
        await webhookFetcher.shutdown()
        await database.shutdown()
        await healthDatabase.shutdown()
    }
}
