package import Accounts
import Primitives
package import SignIn
import Storage

// What administrators read and do, a use case each. Every act is recorded under their name.

extension Administration {
    // MARK: Accounts

    package func accounts(
        _ filter: AccountFilter, after cursor: AccountCursor?, limit: Int
    ) async throws(AdministrationFailure) -> Page<AccountRecord, AccountCursor> {
        try await stored { try await accountSearch.list(filter, after: cursor, limit: limit) }
    }

    package func account(_ id: AccountID) async throws(AdministrationFailure) -> AccountRecord {
        try await found { try await accountSearch.account(id) }
    }

    package func identity(
        _ id: IdentityID
    ) async throws(AdministrationFailure) -> (account: Account, identity: Identity) {
        try await found { try await accountSearch.account(of: id) }
    }

    /// Everything that is stored about the person of an account.
    package func export(
        _ id: AccountID, by administrator: Administrator
    ) async throws(AdministrationFailure) -> PersonalDataExport {
        guard let place = exports.acquire() else { throw .overloaded(retryAfter: 1) }
        return try await found {
            try await PersonalDataExport(
                of: id, from: PersonalData(database: database), by: administrator.call, holding: place)
        }
    }

    package func sessions(
        of id: AccountID, before cursor: SessionID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<SessionSummary, SessionID> {
        _ = try await account(id)
        return try await stored {
            try await sessionStore.live(of: id, before: cursor, limit: limit, by: clock.call(by: .service))
        }
    }

    package func disable(
        _ id: AccountID, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored { try await accountStore.disable(id, reason: reason, by: administrator.call) }
    }

    /// - Parameter email: an address for an account that has no sign-in method left.
    /// - Returns: `false` for an account that is active already.
    @discardableResult
    package func enable(
        _ id: AccountID, email: EmailAddress?, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Bool {
        try await stored {
            try await accountStore.enable(id, email: email, reason: reason, by: administrator.call)
        }
    }

    package func signOut(
        _ id: AccountID, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored { try await accountStore.signOut(id, reason: reason, by: administrator.call) }
    }

    package func delete(
        _ id: AccountID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        let event = AuditEvent(.accountDeleted, from: administrator.call.origin, reason: reason)
        try await stored { try await accountStore.delete(id, recording: event, by: administrator.call) }
    }

    /// - Parameter name: `nil` for none.
    package func rename(
        _ id: AccountID, to name: DisplayName?, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> AccountRecord {
        let event = AuditEvent(.displayNameChanged, from: administrator.call.origin, accountID: id, reason: reason)
        _ = try await found {
            try await accountStore.rename(id, to: name, by: administrator.call, recording: event)
        }
        return try await account(id)
    }

    /// Mails a sign-in code to the account's own address.
    ///
    /// - Returns: `false` when the person has one that was mailed a moment ago.
    package func mailCode(
        to id: AccountID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Bool {
        let account = try await account(id).account
        guard account.status == .active else { throw .accountDisabled }
        guard let email = account.email else { throw .addressMissing }
        guard let codes = codes() else { throw .mailUnavailable }
        let event = AuditEvent(.codeRequested, from: administrator.call.origin, accountID: id, reason: reason)
        do {
            return try await codes.mail(to: email, recording: event, by: administrator.call)
        } catch {
            throw AdministrationFailure(limiting: error)
        }
    }

    package func endSession(
        _ id: SessionID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await changed { try await sessionStore.end(id, reason: reason, by: administrator.call) }
    }

    /// Requests another address for the account of a person who has lost their mailbox. It takes effect in a day, unless
    /// a session of the account or an administrator stops it.
    package func replaceEmail(
        of id: AccountID, by email: EmailAddress, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) -> EmailReplacement {
        guard administrator.call.origin.mailLanguage != nil else {
            // The owner could not be notified, nor enter by a mailed code afterwards.
            _ = try await account(id)
            throw .mailUnavailable
        }
        return try await stored {
            try await emailReplacements.request(email, for: id, reason: reason, by: administrator.call)
        }
    }

    /// Stops the replacement of an account's address, if there is one.
    ///
    /// - Returns: whether there was one.
    package func cancelEmailReplacement(
        of id: AccountID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Bool {
        try await stored {
            try await emailReplacements.cancel(of: id, reason: reason, by: administrator.call)
        }
    }

    // MARK: Identities

    /// Unlinks an identity without revoking its authorization.
    package func detach(
        _ id: IdentityID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored { try await accountStore.detach(id, reason: reason, by: administrator.call) }
    }

    /// Lets an identity sign in again that its provider has blocked; one that is not blocked stays as it is.
    package func unblock(
        _ id: IdentityID, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) {
        try await stored { try await accountStore.unblock(id, reason: reason, by: administrator.call) }
    }

    package func revoke(
        _ id: IdentityID, unlinking: Bool, reason: String, by administrator: Administrator
    ) async throws(AdministrationFailure) -> RevokedIdentity {
        let event = AuditEvent(.revocationRequested, from: administrator.call.origin, reason: reason)
        let (revocation, isUnlinked) = try await stored {
            try await accountStore.revoke(id, unlinking: unlinking, recording: event, by: administrator.call)
        }
        return RevokedIdentity(revocation: revocation, isUnlinked: isUnlinked)
    }

    // MARK: Revocations

    package func revocations(
        _ status: OutboxStatus?, before cursor: RevocationID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<Revocation, RevocationID> {
        try await stored { try await revocationRecords.list(status: status, before: cursor, limit: limit) }
    }

    package func revocation(_ id: RevocationID) async throws(AdministrationFailure) -> Revocation {
        try await found { try await revocationRecords.revocation(id) }
    }

    package func retry(
        _ id: RevocationID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> Revocation {
        try await found { try await revocationRecords.retry(id, reason: reason, by: administrator.call) }
    }

    // MARK: Records

    package func auditEvents(
        _ filter: AuditFilter, before cursor: AuditCursor?, limit: Int
    ) async throws(AdministrationFailure) -> Page<AuditRecord, AuditCursor> {
        try await stored { try await trail.list(filter, before: cursor, limit: limit) }
    }

    package func outbox(
        _ status: OutboxStatus?, before cursor: OutboxID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<OutboxRecord, OutboxID> {
        try await stored { try await outboxSearch.list(status: status, before: cursor, limit: limit) }
    }

    package func providerEvents(
        of provider: Provider? = nil, in status: StoredProviderEvent.Status? = nil, before cursor: ProviderEventID?,
        limit: Int
    ) async throws(AdministrationFailure) -> Page<StoredProviderEvent, ProviderEventID> {
        try await stored { try await eventRecords.page(of: provider, in: status, before: cursor, limit: limit) }
    }

    package func replay(
        _ id: ProviderEventID, reason: String?, by administrator: Administrator
    ) async throws(AdministrationFailure) -> StoredProviderEvent {
        let event = AuditEvent(.eventReplayed, from: administrator.call.origin, reason: reason)
        return try await found {
            try await eventRecords.replay(id, recording: event, by: administrator.call)
        }
    }

    package func providerEvent(_ id: ProviderEventID) async throws(AdministrationFailure) -> StoredProviderEvent {
        try await found { try await eventRecords.event(id) }
    }

    // MARK: Keys

    /// All keys, revoked ones too, the oldest first.
    package func adminKeys() async throws(AdministrationFailure) -> [AdminKey] {
        try await stored { try await keyStore.list() }
    }

    package func revokeKey(_ id: AdminKeyID, by administrator: Administrator) async throws(AdministrationFailure) {
        try await changed { try await keyStore.revoke(id, by: administrator.call) }
    }

    /// Makes a key, by the owner of the tables: the service's role can't.
    package func createKey(
        named name: String, scopes: Set<AdminKey.Scope>, by administrator: Administrator
    ) async throws(AdministrationFailure) -> (key: AdminKey, secret: AdminSecret) {
        let call = administrator.call
        let key = AdminKey(id: AdminKeyID(now: call.now), name: name, scopes: scopes, createdAt: call.now)
        return try await stored {
            let secret = try AdminSecret()
            try await keyStore.insert(key, hash: secret.hash, by: call)
            return (key: key, secret: secret)
        }
    }

    /// The identities behind one that their provider has blocked, in the order of their ids; empty at the end.
    package func blockedIdentities(
        after last: BlockedIdentity?
    ) async throws(AdministrationFailure) -> [BlockedIdentity] {
        try await stored { try await BlockedIdentities(database: database).page(after: last) }
    }
}
