import Accounts
import Administration
import KeyRing
import Migrator
import Postgres
import Primitives
import SignIn
import Storage
import Webhooks

/// Runs the body with a small pool of connections. Throws if this binary can't serve on the database's schema.
///
/// - Parameter asOwner: as the owner of the tables, for what the service's role may not do.
func withDatabase<Result: Sendable>(
    _ options: ConfigurationOptions, asOwner: Bool = false, statementTimeout: Duration? = .seconds(10),
    _ body: (Database) async throws -> Result
) async throws -> Result {
    let configuration = try options.sources().load(DatabaseConfiguration.init)
    var settings = Database.Configuration(configuration)
    if asOwner { settings.url = configuration.migrationURL }
    settings.poolSize = 2
    settings.acquireTimeout = .seconds(10)
    settings.statementTimeout = statementTimeout
    // Nobody waits at an app: a commit that unlinks files or has a slow standby is not given up.
    settings.commitTimeout = .seconds(30)
    let database = Database(configuration: settings, logger: .quiet)
    return try await closing(database.shutdown) {
        try await Migrator(database: database, logger: .quiet).requireServableSchema()
        return try await body(database)
    }
}

/// Runs the body with the use cases of administrators, on behalf of an operator.
///
/// - Parameters:
///   - mail: what is mailed, so that it may have to be configured.
///   - scopes: of the OAuth server, for what lists its clients.
func withAdministration<Result: Sendable>(
    _ options: ConfigurationOptions, asOwner: Bool = false, mail: Act.Mail = .none,
    scopes: OAuthScopes = OAuthScopes([]), statementTimeout: Duration? = .seconds(10),
    webhooks: @escaping @Sendable () -> WebhookConfiguration = { .none }, sender: WebhookSender? = nil,
    _ body: (Administration, Administrator) async throws -> Result
) async throws -> Result {
    let language = mail == .none ? nil : try options.sources().load(NoticeLanguage.init).tag
    let codes = mail == .code ? try options.sources().load(CodeConfiguration.init) : nil
    if mail == .notice || mail == .code, language == nil {
        throw CommandFailure(
            """
            No mail is configured (mail.smtpUrl, mail.from): nobody could be notified, and nobody could enter by a \
            mailed code.
            """)
    }
    return try await withDatabase(options, asOwner: asOwner, statementTimeout: statementTimeout) { database in
        let clock = SystemClock()
        let refusals = RefusalAggregator(trail: AuditTrail(database: database), clock: clock)
        let administration = Administration(
            database: database, oauth: OAuthAdministration(database: database, scopes: { scopes }),
            webhooks: webhooks, sender: sender, refusals: refusals, clock: clock,
            codes: {
                codes.map { codes in
                    .with(
                        codes.limits, in: ServiceDatabase(database, keyRing: codes.keyRing), refusals: refusals,
                        clock: clock)
                }
            })
        do {
            let result = try await body(
                administration, .operator(named: StatedOperator.name, mailLanguage: language, clock: clock))
            _ = try? await refusals.flush()
            return result
        } catch {
            // A limit that refused the command has its row too. What was said of the command stands without it.
            _ = try? await refusals.flush()
            guard let failure = error as? AdministrationFailure else { throw error }
            // Its sentence says what is known of it.
            if case .database(let error) = failure { throw error }
            throw CommandFailure(failure.sentence ?? "It could not be done (\(failure)).")
        }
    }
}

/// The language of notices to people who have made no request: the default one of the configured mail.
struct NoticeLanguage: Sendable {
    /// `nil` when no mail is sent.
    let tag: String?

    init?(from reader: inout ConfigurationReader) {
        // The service fills in its name.
        tag = MailConfiguration(from: &reader, called: "")?.templates.languages.first
    }
}

/// What codes are made of, and how many an address may have.
private struct CodeConfiguration: Sendable {
    let keyRing: KeyRing
    let limits: [LimitKind: RateLimit]

    init?(from reader: inout ConfigurationReader) {
        guard let keyRing = KeyRing(from: &reader) else { return nil }
        self.keyRing = keyRing
        limits = LimitsConfiguration(from: &reader).byKind
    }
}
