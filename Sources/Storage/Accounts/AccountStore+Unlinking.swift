package import Accounts
import Postgres

/// The outcome of unlinking an identity, or of revoking its authorization.
package enum UnlinkOutcome: Sendable {
    case unlinked(Revocation)
    /// The link stays, marked as revoked: it is the account's last sign-in method, or unlinking was not requested.
    case kept(Revocation)
    case lastSignInMethod
    /// The caller's session has ended.
    case sessionGone
    /// There is no such identity, or it is not this account's.
    case notFound
}

/// Whatever takes an identity from its account here also enqueues the revocation of its authorization, in the same
/// transaction.
extension AccountStore {
    /// Unlinks one of the identities of the session's account.
    package func unlink(
        _ identityID: IdentityID, in session: Session, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> UnlinkOutcome {
        try await database.transaction(retries: 2) { transaction in
            guard let account = try await AccountStore.lock(of: session, at: now, in: transaction) else {
                return .sessionGone
            }
            guard let identity = account.identities.first(where: { $0.id == identityID }) else { return .notFound }
            guard account.hasSignInMethod(besides: identityID) else { return .lastSignInMethod }
            try await MailStore.notify(
                [account.mailbox], of: .identityUnlinked, provider: identity.key.provider, from: origin, at: now,
                in: transaction)
            return .unlinked(
                try await AccountStore.unlink(
                    identity, reason: .identityUnlinked, event: AuditEvent(.identityUnlinked, from: origin), at: now,
                    in: transaction))
        }
    }

    /// Revokes the authorization of any account's identity, ends the sessions that it opened and, unless it is the last
    /// sign-in method, unlinks it. Where the link stays, an authentication at the provider from before `now` is
    /// refused.
    package func revoke(
        _ identityID: IdentityID, unlinking: Bool, by event: AuditEvent, at now: Timestamp
    ) async throws -> UnlinkOutcome {
        try await database.transaction(retries: 2) { transaction in
            let owners = try await transaction.query(
                "SELECT account_id FROM identities WHERE identity_id = \(identityID)"
            ) { row throws(PostgresError) in try row.decode(AccountID.self) }
            guard let owner = owners.first, let account = try await AccountStore.lock(owner, in: transaction),
                let identity = account.identities.first(where: { $0.id == identityID })
            else { return .notFound }
            if unlinking, account.hasSignInMethod(besides: identityID) {
                return .unlinked(
                    try await AccountStore.unlink(
                        identity, reason: .identityUnlinked, event: event, at: now, in: transaction))
            }
            let revocation = try await AccountStore.endAuthorization(
                of: identity, reason: .authorizationRevoked, event: event, at: now, in: transaction)
            let status: Identity.Authorization = revocation.status == .pending ? .revoking : .revoked
            _ = try await transaction.execute(
                """
                UPDATE identities
                SET authorization_status = \(status.rawValue), not_before = GREATEST(not_before, \(now))
                WHERE identity_id = \(identityID)
                """)
            return .kept(revocation)
        }
    }

    /// Deletes the session's account and everything that is known of its owner.
    ///
    /// - Returns: whether the session was still there.
    package func delete(
        in session: Session, by event: AuditEvent, at now: Timestamp
    ) async throws -> Bool {
        try await database.transaction(retries: 2) { transaction in
            guard let account = try await AccountStore.lock(of: session, at: now, in: transaction) else { return false }
            try await AccountStore.delete(account, by: event, at: now, in: transaction)
            return true
        }
    }

    /// Deletes an account, without a session of it.
    ///
    /// - Returns: whether there is one.
    package func delete(_ id: AccountID, by event: AuditEvent, at now: Timestamp) async throws -> Bool {
        try await database.transaction(retries: 2) { transaction in
            guard let account = try await AccountStore.lock(id, in: transaction) else { return false }
            try await AccountStore.delete(account, by: event, at: now, in: transaction)
            return true
        }
    }

    /// - Parameter account: locked.
    static func delete(
        _ account: Account, by event: AuditEvent, at now: Timestamp, in transaction: Transaction
    ) async throws {
        for identity in account.identities {
            var revocation = AuditEvent(
                .revocationRequested, by: event.actor, tokenID: event.tokenID, requestID: event.requestID)
            revocation.actorName = event.actorName
            revocation.network = event.network
            try await unlink(identity, reason: .identityUnlinked, event: revocation, at: now, in: transaction)
            // Link tickets hold the person's address and name. One that is being spent is skipped: its transaction may
            // be waiting for this account.
            _ = try await transaction.execute(
                """
                DELETE FROM link_tickets
                WHERE ticket_hash IN (
                    SELECT t.ticket_hash
                    FROM link_tickets t
                    WHERE \(identity.key.condition)
                        AND NOT EXISTS (SELECT FROM provider_grants g WHERE g.ticket_hash = t.ticket_hash)
                    FOR UPDATE SKIP LOCKED)
                """)
            _ = try await transaction.execute(
                """
                UPDATE provider_events
                SET subject = NULL
                WHERE \(identity.key.condition) AND status <> 'pending'
                """)
        }
        for codes in ["mailed_codes", "email_codes"] as [SQL] {
            _ = try await transaction.execute(
                """
                DELETE FROM \(codes) c
                USING accounts a
                WHERE a.account_id = \(account.id)
                    AND (c.email = a.email OR (c.email = a.pending_email AND c.purpose = 'verifyEmail'))
                """)
        }
        // Mail that has not been sent yet is dropped, as it holds the address.
        _ = try await transaction.execute(
            """
            DELETE FROM outbox o
            USING accounts a
            WHERE a.account_id = \(account.id) AND o.kind = 'mail' AND o.recipient = a.email
            """)
        // Skipped likewise.
        _ = try await transaction.execute(
            """
            DELETE FROM mailbox_tickets
            WHERE ticket_hash IN (
                SELECT t.ticket_hash
                FROM mailbox_tickets t
                WHERE t.email = \(account.email?.text)
                FOR UPDATE SKIP LOCKED)
            """)
        _ = try await transaction.execute("DELETE FROM accounts WHERE account_id = \(account.id)")
        var event = event
        event.accountID = account.id
        try await AuditTrail.record(event, at: now, in: transaction)
    }

    /// The account with its identities, locked until the transaction ends: no other transaction links, unlinks or signs
    /// in with one of them meanwhile. The lock is a statement of its own, because a statement that waits for a lock
    /// still sees the state from before the wait.
    static func lock(_ id: AccountID, in transaction: Transaction) async throws(PostgresError) -> Account? {
        try await lock("a.account_id = \(id)", in: transaction)
        return try await account(id, in: transaction)
    }

    /// Locks the accounts, named `a`, that meet the condition, and their identities. A transaction that needs several
    /// locks them in one call: two that take one each, and then want the other's, wait for each other.
    @discardableResult
    static func lock(_ condition: SQL, in transaction: Transaction) async throws(PostgresError) -> [AccountID] {
        let ids = try await transaction.query(
            "SELECT a.account_id FROM accounts a WHERE \(condition) ORDER BY a.account_id FOR UPDATE"
        ) { row throws(PostgresError) in try row.decode(AccountID.self) }
        _ = try await transaction.execute(
            "SELECT FROM identities WHERE account_id = ANY (\(ids)) ORDER BY identity_id FOR UPDATE")
        return ids
    }

    /// Ends the identity's sessions and authorization, and deletes its link.
    @discardableResult
    static func unlink(
        _ identity: Identity, reason: SessionEndReason, event: AuditEvent, at now: Timestamp,
        in transaction: Transaction
    ) async throws -> Revocation {
        let revocation = try await endAuthorization(
            of: identity, reason: reason, event: event, at: now, in: transaction)
        _ = try await transaction.execute("DELETE FROM identities WHERE identity_id = \(identity.id)")
        return revocation
    }

    private static func endAuthorization(
        of identity: Identity, reason: SessionEndReason, event: AuditEvent, at now: Timestamp,
        in transaction: Transaction
    ) async throws -> Revocation {
        // Before the link is deleted, which clears the sessions' reference to the identity.
        let owners = try await transaction.query(
            "SELECT account_id FROM identities WHERE identity_id = \(identity.id)"
        ) { row throws(PostgresError) in try row.decode(AccountID.self) }
        try await SessionStore.end("s.identity_id = \(identity.id)", reason: reason, at: now, in: transaction)
        let revocation = try await RevocationStore.begin(
            identity.key, identityID: identity.id, at: now, in: transaction)
        var event = event
        event.accountID = owners.first
        event.identityID = identity.id
        event.revocationID = revocation.id
        event.provider = identity.key.provider
        try await AuditTrail.record(event, at: now, in: transaction)
        return revocation
    }
}
