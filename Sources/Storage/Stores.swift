package import Accounts
package import KeyRing
package import Postgres

/// Every group of our tables, over one database.
package struct Stores: Sendable {
    package let identities: IdentityStore
    package let accounts: AccountStore
    package let emailReplacements: EmailReplacementStore
    package let sessions: SessionStore
    package let links: LinkStore
    package let mailboxTickets: MailboxTicketStore
    package let grants: GrantStore
    package let revocations: RevocationStore
    package let transfers: TransferStore
    package let providerEvents: ProviderEventStore
    package let audit: AuditTrail
    package let seals: AuditSeals
    package let auditVerification: AuditVerification
    package let auditPartitions: AuditPartitions
    package let emailCodes: EmailCodeStore
    package let knownNetworks: KnownNetworks
    package let mails: MailStore
    package let nonces: NonceStore
    package let limits: RateLimitStore
    package let signingKeys: SigningKeyStore
    package let adminKeys: AdminKeyStore
    package let consoleSessions: ConsoleSessionStore
    package let accountSearch: AccountSearch
    package let outbox: OutboxSearch
    package let keyRingLines: KeyRingLines
    package let webFlows: WebFlowStore
    package let webSessions: WebSessionStore
    package let oauthClients: OAuthClientStore
    package let oauthGrants: OAuthGrantStore
    package let inspection: DatabaseInspection
    package let personalData: PersonalData
    private let database: Database

    package init(database: Database, keyRing: KeyRing) {
        self.identities = IdentityStore(database: database)
        self.accounts = AccountStore(database: database)
        self.emailReplacements = EmailReplacementStore(database: database)
        self.sessions = SessionStore(database: database)
        self.links = LinkStore(database: database, keyRing: keyRing)
        self.mailboxTickets = MailboxTicketStore(database: database)
        self.grants = GrantStore(database: database, keyRing: keyRing)
        self.revocations = RevocationStore(database: database, keyRing: keyRing)
        self.transfers = TransferStore(database: database)
        self.providerEvents = ProviderEventStore(database: database, keyRing: keyRing)
        self.audit = AuditTrail(database: database)
        self.seals = AuditSeals(database: database, keyRing: keyRing)
        self.auditVerification = AuditVerification(database: database, keyRing: keyRing)
        self.auditPartitions = AuditPartitions(database: database)
        self.emailCodes = EmailCodeStore(database: database)
        self.knownNetworks = KnownNetworks(database: database)
        self.mails = MailStore(database: database)
        self.nonces = NonceStore(database: database)
        self.limits = RateLimitStore(database: database)
        self.signingKeys = SigningKeyStore(database: database)
        self.adminKeys = AdminKeyStore(database: database)
        self.consoleSessions = ConsoleSessionStore(database: database)
        self.accountSearch = AccountSearch(database: database)
        self.outbox = OutboxSearch(database: database)
        self.keyRingLines = KeyRingLines(database: database, keyRing: keyRing)
        self.webFlows = WebFlowStore(database: database, keyRing: keyRing)
        self.webSessions = WebSessionStore(database: database)
        self.oauthClients = OAuthClientStore(database: database)
        self.oauthGrants = OAuthGrantStore(database: database)
        self.inspection = DatabaseInspection(database: database)
        self.personalData = PersonalData(database: database)
        self.database = database
    }

    /// The clock of the database's machine. No expiry is judged by it; it is compared with this machine's clock.
    package func databaseTime() async throws(PostgresError) -> Timestamp {
        let times = try await database.query("SELECT clock_timestamp()") { row throws(PostgresError) in
            try row.decode(Timestamp.self)
        }
        guard let time = times.first else { throw PostgresValue.mismatch("no time") }
        return time
    }
}

/// The failure of a storage call, as far as a caller can act on it.
package struct StorageFailure: Error, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// Whether the same call may succeed soon: the database is unreachable, restarting, full, or busy.
    package let isTemporary: Bool
    private let cause: any Error

    package init(_ error: any Error) {
        self.isTemporary = (error as? PostgresError)?.isTemporary ?? (error is CancellationError)
        self.cause = error
    }

    package var description: String { "a storage call failed" }
    /// The SQLSTATE and where it happened; no parameter and no row.
    package var debugDescription: String { String(reflecting: cause) }
}
