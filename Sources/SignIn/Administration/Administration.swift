package import Accounts
package import KeyRing
import Metrics
package import Primitives
package import Storage

/// The reason why an administrator's call failed.
package enum AdministrationFailure: Error, Equatable, Sendable {
    /// No such key, or one that was revoked.
    case unknownKey
    /// The key lacks the scope.
    case forbidden
    case notFound
    /// The identity is the last sign-in method of an account that is in use.
    case lastSignInMethod
    /// The account has no sign-in method left: enabling it needs an address.
    case emailRequired
    /// The account has a sign-in method, so only its owner may set its address.
    case emailNotAllowed
    case emailTaken
    /// The account has the address that it is to be given.
    case emailUnchanged
    case accountDisabled
    /// This deployment sends no mail.
    case mailUnavailable
    /// Too many exports are being made; `retryAfter` in seconds.
    case overloaded(retryAfter: Int)
    case storageUnavailable(detail: String)
    case fault(operation: String)
}

extension AdministrationFailure {
    package init(_ failure: StorageFailure) {
        self =
            failure.isTemporary
            ? .storageUnavailable(detail: failure.debugDescription) : .fault(operation: failure.debugDescription)
    }
}

/// An authenticated administrator: the key, and the origin of the changes made with it.
package struct Administrator: Sendable {
    package let key: AdminKey
    package let origin: ChangeOrigin

    package func require(_ scope: AdminKey.Scope) throws(AdministrationFailure) {
        guard key.scopes.contains(scope) else { throw .forbidden }
    }
}

/// The use cases of administrators.
package struct Administration: Sendable {
    let stores: Stores
    let consoleSecrets: ConsoleSecrets
    let clock: any WallClock
    private let refusals: RefusalAggregator
    private let refusedKeys: [RefusedKey: Counter]
    private let exports: ConcurrencyLimit
    private let mailLanguages: MailLanguages

    /// - Parameters:
    ///   - refusals: those of the process; a new one if absent.
    ///   - exports: those of the process.
    ///   - mailLanguages: the languages in which mail can be written, the default one first; empty when no mail is sent.
    package init(
        stores: Stores, keyRing: KeyRing, refusals: RefusalAggregator? = nil,
        exports: ConcurrencyLimit = PersonalDataExport.concurrency(), clock: any WallClock, mailLanguages: [String]
    ) {
        self.stores = stores
        consoleSecrets = ConsoleSecrets(keyRing: keyRing)
        self.refusals = refusals ?? RefusalAggregator(trail: stores.audit, clock: clock)
        refusedKeys = Dictionary(
            uniqueKeysWithValues: RefusedKey.allCases.map {
                ($0, Counter(label: "countersign_admin_key_refusals_total", dimensions: [("reason", $0.rawValue)]))
            })
        self.exports = exports
        self.clock = clock
        self.mailLanguages = MailLanguages(tags: mailLanguages)
    }

    /// - Parameter presented: the credentials of the `Bearer` scheme.
    package func administrator(
        presenting presented: [UInt8]?, for scope: AdminKey.Scope, client: Client
    ) async throws(AdministrationFailure) -> Administrator {
        let administrator = try await administrator(presenting: presented, client: client)
        try administrator.require(scope)
        return administrator
    }

    /// The administrator with a key, whatever it may do.
    func administrator(
        presenting presented: [UInt8]?, client: Client
    ) async throws(AdministrationFailure) -> Administrator {
        guard let presented, !presented.isEmpty else { throw .unknownKey }
        guard let hash = AdminSecret.hash(ofPresented: presented) else { throw refusal(of: .unknown, to: client) }
        let now = clock.now()
        guard let key = try await stored({ try await stores.adminKeys.key(hash: hash, at: now) }) else {
            guard let name = try await stored({ try await stores.adminKeys.nameOfRevoked(hash: hash) }) else {
                throw refusal(of: .unknown, to: client)
            }
            throw refusal(of: .revoked, named: name, to: client)
        }
        return administrator(with: key, client: client)
    }

    /// Why a presented key opens nothing. The raw value is a label of a metric and a reason of the audit trail.
    private enum RefusedKey: String, CaseIterable {
        /// Never made, or not of the form of a key.
        case unknown
        /// Somebody still has it, or has found it.
        case revoked
    }

    /// The failure of a caller whose key is refused, which is counted and recorded; nothing of the key is.
    private func refusal(
        of key: RefusedKey, named name: String? = nil, to client: Client
    ) -> AdministrationFailure {
        refusedKeys[key]?.increment()
        var event = AuditEvent(
            .adminKeyRejected, by: .person, reason: key.rawValue, requestID: client.requestID)
        event.actorName = name
        event.network = client.network
        refusals.note(event, at: clock.now())
        return .unknownKey
    }

    func administrator(with key: AdminKey, client: Client) -> Administrator {
        // In the default language: nobody knows that of the account's owner, and an administrator's says nothing of it.
        let origin = ChangeOrigin(
            actor: .administrator, actorName: key.name, requestID: client.requestID, network: client.network,
            mailLanguage: mailLanguages.tags.first)
        return Administrator(key: key, origin: origin)
    }

    // MARK: Accounts

    package func accounts(
        _ filter: AccountFilter, after cursor: AccountCursor?, limit: Int
    ) async throws(AdministrationFailure) -> Page<AccountRecord, AccountCursor> {
        try await stored { try await stores.accountSearch.list(filter, after: cursor, limit: limit) }
    }

    package func account(_ id: AccountID) async throws(AdministrationFailure) -> AccountRecord {
        try await found { try await stores.accountSearch.account(id) }
    }

    package func identity(
        _ id: IdentityID
    ) async throws(AdministrationFailure) -> (account: Account, identity: Identity) {
        try await found { try await stores.accountSearch.account(of: id) }
    }

    /// Everything that is stored about the person of an account.
    package func export(
        _ id: AccountID, by administrator: Administrator
    ) async throws(AdministrationFailure) -> PersonalDataExport {
        let now = clock.now()
        guard let place = exports.acquire() else { throw .overloaded(retryAfter: 1) }
        return try await found {
            try await PersonalDataExport(
                of: id, from: stores.personalData, at: now, by: administrator.origin, holding: place)
        }
    }

    package func sessions(
        of id: AccountID, before cursor: SessionID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<SessionSummary, SessionID> {
        let now = clock.now()
        _ = try await account(id)
        return try await stored { try await stores.sessions.live(of: id, before: cursor, limit: limit, at: now) }
    }

    package func disable(
        _ id: AccountID, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await change { now in
            try await stores.accounts.disable(id, reason: reason, at: now, from: administrator.origin)
        }
    }

    /// - Parameter email: an address for an account that has no sign-in method left.
    package func enable(
        _ id: AccountID, email: EmailAddress?, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        let now = clock.now()
        let outcome = try await stored {
            try await stores.accounts.enable(id, email: email, reason: reason, at: now, from: administrator.origin)
        }
        switch outcome {
        case .enabled: return
        case .notFound: throw .notFound
        case .emailRequired: throw .emailRequired
        case .emailNotAllowed: throw .emailNotAllowed
        case .emailTaken: throw .emailTaken
        }
    }

    package func signOut(
        _ id: AccountID, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await change { now in
            try await stores.accounts.signOut(id, reason: reason, at: now, from: administrator.origin)
        }
    }

    package func delete(
        _ id: AccountID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await change { now in
            try await stores.accounts.delete(
                id, by: AuditEvent(.accountDeleted, from: administrator.origin, reason: reason), at: now)
        }
    }

    package func endSession(
        _ id: SessionID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await change { now in
            try await stores.sessions.end(id, reason: reason, at: now, from: administrator.origin)
        }
    }

    // MARK: Identities

    /// Unlinks an identity without revoking its authorization.
    package func detach(
        _ id: IdentityID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        let now = clock.now()
        let outcome = try await stored {
            try await stores.accounts.detach(id, reason: reason, at: now, from: administrator.origin)
        }
        switch outcome {
        case .detached: return
        case .notFound: throw .notFound
        case .lastSignInMethod: throw .lastSignInMethod
        }
    }

    /// Lets an identity sign in again that its provider has blocked; one that is not blocked stays as it is.
    package func unblock(
        _ id: IdentityID, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await change { now in
            try await stores.accounts.unblock(id, reason: reason, at: now, from: administrator.origin)
        }
    }

    package func revoke(
        _ id: IdentityID, unlinking: Bool, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Revocation {
        let now = clock.now()
        let event = AuditEvent(.revocationRequested, from: administrator.origin, reason: reason)
        let outcome = try await stored {
            try await stores.accounts.revoke(id, unlinking: unlinking, by: event, at: now)
        }
        switch outcome {
        case .unlinked(let revocation), .kept(let revocation): return revocation
        case .notFound, .lastSignInMethod, .sessionGone: throw .notFound
        }
    }

    // MARK: Revocations

    package func revocations(
        _ status: Revocation.Status?, before cursor: RevocationID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<Revocation, RevocationID> {
        try await stored { try await stores.revocations.list(status: status, before: cursor, limit: limit) }
    }

    package func revocation(_ id: RevocationID) async throws(AdministrationFailure) -> Revocation {
        try await found { try await stores.revocations.revocation(id) }
    }

    package func retry(
        _ id: RevocationID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Revocation {
        let now = clock.now()
        return try await found {
            try await stores.revocations.retry(id, reason: reason, at: now, from: administrator.origin)
        }
    }

    // MARK: Records

    package func auditEvents(
        _ filter: AuditFilter, before cursor: AuditCursor?, limit: Int
    ) async throws(AdministrationFailure) -> Page<AuditRecord, AuditCursor> {
        try await stored { try await stores.audit.list(filter, before: cursor, limit: limit) }
    }

    package func outbox(
        _ status: OutboxRecord.Status?, before cursor: OutboxID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<OutboxRecord, OutboxID> {
        try await stored { try await stores.outbox.list(status: status, before: cursor, limit: limit) }
    }

    package func providerEvents(
        before cursor: ProviderEventID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<StoredProviderEvent, ProviderEventID> {
        try await stored { try await stores.providerEvents.records.page(before: cursor, limit: limit) }
    }

    package func replay(
        _ id: ProviderEventID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> StoredProviderEvent {
        let now = clock.now()
        let event = AuditEvent(.eventReplayed, from: administrator.origin, reason: reason)
        return try await found {
            try await stores.providerEvents.records.replay(id, by: event, at: now)
        }
    }

    // MARK: -

    func change(
        _ operation: (Timestamp) async throws -> Bool
    ) async throws(AdministrationFailure) {
        let now = clock.now()
        guard try await stored({ try await operation(now) }) else { throw .notFound }
    }

    private func found<Value: Sendable>(
        _ operation: () async throws -> Value?
    ) async throws(AdministrationFailure) -> Value {
        guard let value = try await stored(operation) else { throw .notFound }
        return value
    }

    func stored<Value: Sendable>(
        _ operation: () async throws -> Value
    ) async throws(AdministrationFailure) -> Value {
        do {
            return try await operation()
        } catch {
            throw AdministrationFailure(StorageFailure(error))
        }
    }
}
