package import Accounts
package import KeyRing
package import Postgres

/// The service's database: PostgreSQL, and the key ring under which its secrets are sealed. Each table family is a store, a
/// view without a state of its own; what two of them do together is one ``Change``.
package struct ServiceDatabase: Sendable {
    package let pool: Database
    package let keyRing: KeyRing
    // Calls that come at once share statements, so there is one of each of these.
    package let identities: IdentityStore
    package let liveAccounts: LiveAccounts
    package let sessionRefreshes: SessionRefreshes
    package let oauthRefreshes: OAuthRefreshes
    package let limits: RateLimitStore

    package init(_ pool: Database, keyRing: KeyRing) {
        self.pool = pool
        self.keyRing = keyRing
        identities = IdentityStore(database: pool)
        liveAccounts = LiveAccounts(database: pool)
        sessionRefreshes = SessionRefreshes(database: pool)
        oauthRefreshes = OAuthRefreshes(database: pool)
        limits = RateLimitStore(database: pool)
    }

    /// How many connections there are to lease.
    package var connections: Int { pool.configuration.poolSize }

    package var accounts: AccountStore { AccountStore(database: pool) }
    package var emailReplacements: EmailReplacementStore { EmailReplacementStore(database: pool) }
    package var sessions: SessionStore { SessionStore(database: pool) }
    package var links: LinkStore { LinkStore(database: pool, keyRing: keyRing) }
    package var mailboxTickets: MailboxTicketStore { MailboxTicketStore(database: pool) }
    package var grants: GrantStore { GrantStore(database: pool, keyRing: keyRing) }
    package var revocations: RevocationStore { RevocationStore(database: pool, keyRing: keyRing) }
    package var transfers: TransferStore { TransferStore(database: pool) }
    package var providerEvents: ProviderEventStore { ProviderEventStore(database: pool, keyRing: keyRing) }
    package var audit: AuditTrail { AuditTrail(database: pool) }
    package var seals: AuditSeals { AuditSeals(database: pool, keyRing: keyRing) }
    package var auditVerification: AuditVerification { AuditVerification(database: pool, keyRing: keyRing) }
    package var auditPartitions: AuditPartitions { AuditPartitions(database: pool) }
    package var emailCodes: EmailCodeStore { EmailCodeStore(database: pool) }
    package var knownNetworks: KnownNetworks { KnownNetworks(database: pool) }
    package var mails: MailStore { MailStore(database: pool) }
    package var nonces: NonceStore { NonceStore(database: pool) }
    package var signingKeys: SigningKeyStore { SigningKeyStore(database: pool) }
    package var adminKeys: AdminKeyStore { AdminKeyStore(database: pool) }
    package var consoleSessions: ConsoleSessionStore { ConsoleSessionStore(database: pool) }
    package var consoleStaff: ConsoleStaffStore { ConsoleStaffStore(database: pool) }
    package var outbox: OutboxSearch { OutboxSearch(database: pool) }
    package var keyRingLines: KeyRingLines { KeyRingLines(database: pool, keyRing: keyRing) }
    package var webFlows: WebFlowStore { WebFlowStore(database: pool, keyRing: keyRing) }
    package var webRegistrations: WebRegistrationStore { WebRegistrationStore(database: pool, keyRing: keyRing) }
    package var webSessions: WebSessionStore { WebSessionStore(database: pool) }
    package var oauthClients: OAuthClientStore { OAuthClientStore(database: pool) }
    package var oauthGrants: OAuthGrantStore { OAuthGrantStore(database: pool) }
    package var imports: ImportStore { ImportStore(database: pool, keyRing: keyRing) }
    package var feed: FeedStore { FeedStore(database: pool) }
    package var webhooks: WebhookStore { WebhookStore(database: pool) }
    package var inspection: DatabaseInspection { DatabaseInspection(database: pool) }
    package var personalData: PersonalData { PersonalData(database: pool) }

    /// The clock of the database's machine, to compare this machine's with, and for deletions that no sweep does
    /// (docs/decisions/0003-one-clock.md).
    package func databaseTime() async throws(PostgresError) -> Timestamp {
        let times = try await pool.query("SELECT clock_timestamp()", as: Timestamp.self)
        guard let time = times.first else { throw PostgresValue.mismatch("no time") }
        return time
    }
}
