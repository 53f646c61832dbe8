package import Accounts
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
    /// What a storage call threw: a refusal of the change, or a failure.
    package init(stored error: any Error) {
        guard let refusal = error as? Refusal else {
            let failure = StorageFailure(error)
            self =
                failure.isTemporary
                ? .storageUnavailable(detail: failure.debugDescription) : .fault(operation: failure.debugDescription)
            return
        }
        self =
            switch refusal {
            case .accountNotFound, .identityNotFound, .sessionGone: .notFound
            case .accountDisabled: .accountDisabled
            case .lastSignInMethod: .lastSignInMethod
            case .emailTaken: .emailTaken
            case .emailUnchanged: .emailUnchanged
            case .emailRequired: .emailRequired
            case .emailNotAllowed: .emailNotAllowed
            case .ticketExpired, .proofNoLongerValid, .holderNotShown, .identityAlreadyLinked, .providerAlreadyLinked,
                .codeGone:
                .fault(operation: "\(refusal)")
            }
    }
}

/// An authenticated administrator: the key, and the call on behalf of it.
package struct Administrator: Sendable {
    package let key: AdminKey
    package let call: Call

    package func require(_ scope: AdminKey.Scope) throws(AdministrationFailure) {
        guard key.scopes.contains(scope) else { throw .forbidden }
    }
}

/// The use cases of administrators.
package struct Administration: Sendable {
    let database: ServiceDatabase
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
        database: ServiceDatabase, refusals: RefusalAggregator? = nil,
        exports: ConcurrencyLimit = PersonalDataExport.concurrency(), clock: any WallClock, mailLanguages: [String]
    ) {
        self.database = database
        consoleSecrets = ConsoleSecrets(keyRing: database.keyRing)
        self.refusals = refusals ?? RefusalAggregator(trail: database.audit, clock: clock)
        refusedKeys = Dictionary(
            uniqueKeysWithValues: RefusedKey.allCases.map {
                ($0, Counter(label: "countersign_admin_key_refusals_total", dimensions: [("reason", $0.rawValue)]))
            })
        self.exports = exports
        self.clock = clock
        self.mailLanguages = MailLanguages(tags: mailLanguages)
    }

    /// Makes the call of each request.
    package var calls: Calls { Calls(clock: clock, mailLanguages: mailLanguages) }

    /// - Parameter presented: the credentials of the `Bearer` scheme.
    package func administrator(
        presenting presented: [UInt8]?, for scope: AdminKey.Scope, by call: Call
    ) async throws(AdministrationFailure) -> Administrator {
        let administrator = try await administrator(presenting: presented, by: call)
        try administrator.require(scope)
        return administrator
    }

    /// The administrator with a key, whatever it may do.
    func administrator(
        presenting presented: [UInt8]?, by call: Call
    ) async throws(AdministrationFailure) -> Administrator {
        guard let presented, !presented.isEmpty else { throw .unknownKey }
        guard let hash = AdminSecret.hash(ofPresented: presented) else { throw refusal(of: .unknown, by: call) }
        guard let key = try await stored({ try await database.adminKeys.key(hash: hash, by: call) }) else {
            guard let name = try await stored({ try await database.adminKeys.nameOfRevoked(hash: hash) }) else {
                throw refusal(of: .unknown, by: call)
            }
            throw refusal(of: .revoked, named: name, by: call)
        }
        return administrator(with: key, by: call)
    }

    /// Why a presented key opens nothing. The raw value is a label of a metric and a reason of the audit trail.
    private enum RefusedKey: String, CaseIterable {
        /// Never made, or not of the form of a key.
        case unknown
        /// Somebody still has it, or has found it.
        case revoked
    }

    /// The failure of a caller whose key is refused, which is counted and recorded; nothing of the key is.
    private func refusal(of key: RefusedKey, named name: String? = nil, by call: Call) -> AdministrationFailure {
        refusedKeys[key]?.increment()
        var event = AuditEvent(.adminKeyRejected, by: .person, reason: key.rawValue, requestID: call.caller.requestID)
        event.actorName = name
        event.network = call.caller.network
        refusals.note(event, at: call.now)
        return .unknownKey
    }

    func administrator(with key: AdminKey, by call: Call) -> Administrator {
        // In the default language: nobody knows that of the account's owner, and an administrator's says nothing of it.
        let origin = ChangeOrigin(
            actor: .administrator, actorName: key.name, requestID: call.caller.requestID, network: call.caller.network,
            mailLanguage: mailLanguages.tags.first)
        return Administrator(key: key, call: call.onBehalf(of: origin))
    }

    // MARK: Accounts

    package func accounts(
        _ filter: AccountFilter, after cursor: AccountCursor?, limit: Int
    ) async throws(AdministrationFailure) -> Page<AccountRecord, AccountCursor> {
        try await stored { try await database.accountSearch.list(filter, after: cursor, limit: limit) }
    }

    package func account(_ id: AccountID) async throws(AdministrationFailure) -> AccountRecord {
        try await found { try await database.accountSearch.account(id) }
    }

    package func identity(
        _ id: IdentityID
    ) async throws(AdministrationFailure) -> (account: Account, identity: Identity) {
        try await found { try await database.accountSearch.account(of: id) }
    }

    /// Everything that is stored about the person of an account.
    package func export(
        _ id: AccountID, by administrator: Administrator
    ) async throws(AdministrationFailure) -> PersonalDataExport {
        guard let place = exports.acquire() else { throw .overloaded(retryAfter: 1) }
        return try await found {
            try await PersonalDataExport(of: id, from: database.personalData, by: administrator.call, holding: place)
        }
    }

    package func sessions(
        of id: AccountID, before cursor: SessionID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<SessionSummary, SessionID> {
        _ = try await account(id)
        return try await stored {
            try await database.sessions.live(of: id, before: cursor, limit: limit, by: clock.call(by: .service))
        }
    }

    package func disable(
        _ id: AccountID, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored { try await database.accounts.disable(id, reason: reason, by: administrator.call) }
    }

    /// - Parameter email: an address for an account that has no sign-in method left.
    package func enable(
        _ id: AccountID, email: EmailAddress?, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored {
            try await database.accounts.enable(id, email: email, reason: reason, by: administrator.call)
        }
    }

    package func signOut(
        _ id: AccountID, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored { try await database.accounts.signOut(id, reason: reason, by: administrator.call) }
    }

    package func delete(
        _ id: AccountID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        let event = AuditEvent(.accountDeleted, from: administrator.call.origin, reason: reason)
        try await stored { try await database.accounts.delete(id, recording: event, by: administrator.call) }
    }

    package func endSession(
        _ id: SessionID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        let isEnded = try await stored { try await database.sessions.end(id, reason: reason, by: administrator.call) }
        guard isEnded else { throw .notFound }
    }

    // MARK: Identities

    /// Unlinks an identity without revoking its authorization.
    package func detach(
        _ id: IdentityID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored { try await database.accounts.detach(id, reason: reason, by: administrator.call) }
    }

    /// Lets an identity sign in again that its provider has blocked; one that is not blocked stays as it is.
    package func unblock(
        _ id: IdentityID, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored { try await database.accounts.unblock(id, reason: reason, by: administrator.call) }
    }

    package func revoke(
        _ id: IdentityID, unlinking: Bool, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Revocation {
        let event = AuditEvent(.revocationRequested, from: administrator.call.origin, reason: reason)
        return try await stored {
            try await database.accounts.revoke(id, unlinking: unlinking, recording: event, by: administrator.call)
                .revocation
        }
    }

    // MARK: Revocations

    package func revocations(
        _ status: Revocation.Status?, before cursor: RevocationID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<Revocation, RevocationID> {
        try await stored { try await database.revocations.list(status: status, before: cursor, limit: limit) }
    }

    package func revocation(_ id: RevocationID) async throws(AdministrationFailure) -> Revocation {
        try await found { try await database.revocations.revocation(id) }
    }

    package func retry(
        _ id: RevocationID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Revocation {
        try await found { try await database.revocations.retry(id, reason: reason, by: administrator.call) }
    }

    // MARK: Records

    package func auditEvents(
        _ filter: AuditFilter, before cursor: AuditCursor?, limit: Int
    ) async throws(AdministrationFailure) -> Page<AuditRecord, AuditCursor> {
        try await stored { try await database.audit.list(filter, before: cursor, limit: limit) }
    }

    package func outbox(
        _ status: OutboxRecord.Status?, before cursor: OutboxID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<OutboxRecord, OutboxID> {
        try await stored { try await database.outbox.list(status: status, before: cursor, limit: limit) }
    }

    package func providerEvents(
        before cursor: ProviderEventID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<StoredProviderEvent, ProviderEventID> {
        try await stored { try await database.providerEvents.records.page(before: cursor, limit: limit) }
    }

    package func replay(
        _ id: ProviderEventID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> StoredProviderEvent {
        let event = AuditEvent(.eventReplayed, from: administrator.call.origin, reason: reason)
        return try await found {
            try await database.providerEvents.records.replay(id, recording: event, by: administrator.call)
        }
    }

    // MARK: -

    private func found<Value: Sendable>(
        _ operation: () async throws -> Value?
    ) async throws(AdministrationFailure) -> Value {
        guard let value = try await stored(operation) else { throw .notFound }
        return value
    }

    func stored<Value: Sendable>(_ operation: () async throws -> Value) async throws(AdministrationFailure) -> Value {
        do {
            return try await operation()
        } catch {
            throw AdministrationFailure(stored: error)
        }
    }
}
