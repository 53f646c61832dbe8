import Accounts
import Postgres
import Primitives

/// A transaction on behalf of a call.
///
/// What is done in it has the call's time and origin. The tables are reached by views of it, one a table family
/// (`change.accounts`, `change.sessions`), which hold nothing else: a function of a view is a part of the change and
/// commits with it. Whatever is thrown rolls all of it back, a refusal too, and with it what the refused call consumed.
///
/// Every change takes the locks that it needs in one order, which README.md of this target draws.
struct Change: PostgresSession {
    let transaction: Transaction
    let call: Call
    /// What is written to the feed at the end of it.
    private let events: AnnouncedEvents

    fileprivate init(transaction: Transaction, call: Call, events: AnnouncedEvents) {
        self.transaction = transaction
        self.call = call
        self.events = events
    }

    func query<T: Sendable>(
        _ sql: SQL, at location: CodeLocation,
        as decode: @escaping @Sendable (PostgresRow) throws(PostgresError) -> T
    ) async throws(PostgresError) -> [T] {
        try await transaction.query(sql, at: location, as: decode)
    }

    func execute(_ sql: SQL, at location: CodeLocation) async throws(PostgresError) -> Int {
        try await transaction.execute(sql, at: location)
    }

    /// The same transaction, on behalf of another.
    func onBehalf(of origin: ChangeOrigin) -> Change {
        Change(transaction: transaction, call: call.onBehalf(of: origin), events: events)
    }

    /// Writes to the feed what happened to an account, if the change is committed.
    ///
    /// - Parameter externalID: of an account that the change deletes.
    func announce(_ happening: AccountEvent.Happening, of id: AccountID, externalID: ExternalID? = nil) {
        events.add(AccountEvent(happening, of: id, externalID: externalID))
    }

    /// Records an event of the call.
    func record(
        _ kind: AuditEvent.Kind, accountID: AccountID? = nil, identityID: IdentityID? = nil,
        sessionID: SessionID? = nil, provider: Provider? = nil, reason: String? = nil
    ) async throws(PostgresError) {
        try await record(
            AuditEvent(
                kind, from: call.origin, accountID: accountID, identityID: identityID, sessionID: sessionID,
                provider: provider, reason: reason))
    }

    /// Records an event that has an origin of its own.
    func record(_ event: AuditEvent) async throws(PostgresError) {
        try await AuditTrail.record(event, by: call, in: self)
    }
}

/// A table family, seen from within a change.
protocol ChangeView: Sendable {
    var change: Change { get }
}

extension ChangeView {
    var call: Call { change.call }
    var now: Timestamp { change.call.now }
    var origin: ChangeOrigin { change.call.origin }
    /// On whose account the events of the call happen.
    var cause: AccountEvent.Cause { AccountEvent.Cause(change.call.origin) }
}

/// The views; ``Links`` is with its store. What is done by one is an extension of it, beside the store of its tables.
extension Change {
    var accounts: Accounts { Accounts(change: self) }
    var identities: Identities { Identities(change: self) }
    var emailReplacements: EmailReplacements { EmailReplacements(change: self) }
    var sessions: Sessions { Sessions(change: self) }
    var emailCodes: EmailCodes { EmailCodes(change: self) }
    var mailboxTickets: MailboxTickets { MailboxTickets(change: self) }
    var webFlows: WebFlows { WebFlows(change: self) }
    var mail: Mail { Mail(change: self) }
    var revocations: Revocations { Revocations(change: self) }
    var providerEvents: ProviderEvents { ProviderEvents(change: self) }
    var oauthClients: OAuthClients { OAuthClients(change: self) }
    var oauthGrants: OAuthGrants { OAuthGrants(change: self) }
    var signingKeys: SigningKeys { SigningKeys(change: self) }

    struct Accounts: ChangeView { let change: Change }
    struct Identities: ChangeView { let change: Change }
    struct EmailReplacements: ChangeView { let change: Change }
    struct Sessions: ChangeView { let change: Change }
    struct EmailCodes: ChangeView { let change: Change }
    struct MailboxTickets: ChangeView { let change: Change }
    struct WebFlows: ChangeView { let change: Change }
    struct Mail: ChangeView { let change: Change }
    struct Revocations: ChangeView { let change: Change }
    struct ProviderEvents: ChangeView { let change: Change }
    struct OAuthClients: ChangeView { let change: Change }
    struct OAuthGrants: ChangeView { let change: Change }
    struct SigningKeys: ChangeView { let change: Change }
}

extension Database {
    /// Runs `body` as one transaction on behalf of a call; again, at most twice, after a serialization failure or a
    /// deadlock.
    @discardableResult
    func change<Value: Sendable>(
        by call: Call, file: StaticString = #fileID, line: UInt = #line,
        _ body: @Sendable (Change) async throws -> Value
    ) async throws -> Value {
        let (value, hasEvents) = try await transaction(retries: 2, file: file, line: line) { transaction in
            let events = AnnouncedEvents()
            let value = try await body(Change(transaction: transaction, call: call, events: events))
            let hasEvents = try await events.write(at: call.now, in: transaction)
            return (value, hasEvents)
        }
        if hasEvents { written.raise() }
        return value
    }

    /// A change that gives an account an address. If another transaction takes the address between the look-up of its
    /// holder and the write, the whole is run again and finds that holder; after a few times the address counts as taken.
    @discardableResult
    func changeTakingAddress<Value: Sendable>(
        by call: Call, file: StaticString = #fileID, line: UInt = #line,
        _ body: @Sendable (Change) async throws -> Value
    ) async throws -> Value {
        for _ in 0..<3 {
            do {
                return try await change(by: call, file: file, line: line, body)
            } catch is HolderChanged {
                continue
            } catch let error as PostgresError where error.isUniqueViolation(of: "accounts_email_key") {
                continue
            }
        }
        throw Refusal.emailTaken
    }
}

/// Thrown in ``Postgres/Database/changeTakingAddress(by:file:line:_:)``: the address has passed to an account that the
/// change has not locked.
struct HolderChanged: Error {}
