import Accounts
import Administration
import Logging
import Migrator
import Postgres
import SignIn

/// Runs the body with a small pool of connections. Throws if this binary can't serve on the database's schema.
///
/// - Parameter asOwner: as the owner of the tables, for what the service's role may not do.
func withDatabase<Result: Sendable>(
    _ options: ConfigurationOptions, asOwner: Bool = false, statementTimeout: Duration? = .seconds(10),
    _ body: (Database) async throws -> Result
) async throws -> Result {
    let configuration = try options.sources().load(DatabaseConfiguration.init)
    let silent = Logger(label: "countersign", factory: { _ in SwiftLogNoOpLogHandler() })
    var settings = Database.Configuration(configuration)
    if asOwner { settings.url = configuration.migrationURL }
    settings.poolSize = 2
    settings.acquireTimeout = .seconds(10)
    settings.statementTimeout = statementTimeout
    let database = Database(configuration: settings, logger: silent)
    do {
        try await Migrator(database: database, logger: silent).requireServableSchema()
        let result = try await body(database)
        await database.shutdown()
        return result
    } catch {
        await database.shutdown()
        throw error
    }
}

/// Runs the body with the use cases of administrators, on behalf of an operator.
///
/// - Parameters:
///   - notifying: whether somebody is notified by mail, so that it has to be configured.
///   - scopes: of the OAuth server, for what lists its clients.
func withAdministration<Result: Sendable>(
    _ options: ConfigurationOptions, asOwner: Bool = false, notifying: Bool = false,
    scopes: OAuthScopes = OAuthScopes([]), statementTimeout: Duration? = .seconds(10),
    _ body: (Administration, Administrator) async throws -> Result
) async throws -> Result {
    let language = notifying ? try options.sources().load(NoticeLanguage.init).tag : nil
    if notifying, language == nil {
        throw CommandFailure(
            """
            No mail is configured (mail.smtpUrl, mail.from): nobody could be notified, and nobody could enter by a \
            mailed code.
            """)
    }
    return try await withDatabase(options, asOwner: asOwner, statementTimeout: statementTimeout) { database in
        let clock = SystemClock()
        let administration = Administration(
            database: database, oauth: OAuthAdministration(database: database, scopes: { scopes }), clock: clock)
        do {
            return try await body(administration, .operator(mailLanguage: language, clock: clock))
        } catch AdministrationFailure.database(let error) {
            // Its sentence says what is known of it.
            throw error
        } catch let failure as AdministrationFailure {
            throw CommandFailure(failure.sentence ?? "It could not be done (\(failure)).")
        }
    }
}

/// The language of notices to people who have made no request: the default one of the configured mail.
private struct NoticeLanguage: Sendable {
    /// `nil` when no mail is sent.
    let tag: String?

    init?(from reader: inout ConfigurationReader) {
        let server = ServerConfiguration(from: &reader)
        tag = MailConfiguration(from: &reader, server: server)?.templates.languages.first
    }
}
