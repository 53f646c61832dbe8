package import Accounts
import Postgres

/// Whatever takes an identity from its account here also enqueues the revocation of its authorization, in the same
/// transaction.
extension AccountStore {
    /// Unlinks one of the identities of the session's account.
    package func unlink(_ identityID: IdentityID, in session: Session, by call: Call) async throws {
        try await database.change(by: call) { change in
            let account = try await change.accounts.lock(of: session)
            guard let identity = account.identities.first(where: { $0.id == identityID }) else {
                throw Refusal.identityNotFound
            }
            guard account.hasSignInMethod(besides: identityID) else { throw Refusal.lastSignInMethod }
            try await change.mail.notify([account.mailbox], of: .identityUnlinked, provider: identity.key.provider)
            try await change.accounts.unlink(
                identity, of: account.id, reason: .identityUnlinked,
                event: AuditEvent(.identityUnlinked, from: call.origin))
        }
    }

    /// Revokes the authorization of any account's identity, ends the sessions that it opened and, unless it is the last
    /// sign-in method, unlinks it. Where the link stays, an authentication at the provider from before `now` is
    /// refused.
    package func revoke(
        _ identityID: IdentityID, unlinking: Bool, recording event: AuditEvent, by call: Call
    ) async throws -> (revocation: Revocation, isUnlinked: Bool) {
        try await database.change(by: call) { change in
            let (account, identity) = try await change.accounts.lock(ownerOf: identityID)
            if unlinking, account.hasSignInMethod(besides: identityID) {
                let revocation = try await change.accounts.unlink(
                    identity, of: account.id, reason: .identityUnlinked, event: event)
                return (revocation, true)
            }
            let revocation = try await change.accounts.revokeAuthorization(of: identity, in: account.id, event: event)
            return (revocation, false)
        }
    }

    /// Deletes the account of a fresh session and everything that is known of its owner.
    package func delete(in session: Session, recording event: AuditEvent, by call: Call) async throws {
        try await deleteEndedSessions(of: session.accountID)
        try await database.change(by: call) { change in
            let account = try await change.accounts.lock(of: session)
            guard try await change.sessions.isFresh(session.id) else { throw Refusal.sessionNotFresh }
            try await change.accounts.delete(account, recording: event)
        }
    }

    /// Deletes an account, without a session of it.
    package func delete(_ id: AccountID, recording event: AuditEvent, by call: Call) async throws {
        try await deleteEndedSessions(of: id)
        try await database.change(by: call) { change in
            guard let account = try await change.accounts.lock(id) else { throw Refusal.accountNotFound }
            try await change.accounts.delete(account, recording: event)
        }
    }

    /// Before the account, in batches: of one that was signed in to without end, a single transaction would not be done in
    /// time. They are good for nothing, so an account that stays after all lacks nothing.
    private func deleteEndedSessions(of id: AccountID) async throws(PostgresError) {
        let batch = 1_000
        var deleted: Int
        repeat {
            deleted = try await database.delete(
                from: "sessions", where: "account_id = \(id) AND ended_at IS NOT NULL", limit: batch)
        } while deleted == batch
    }
}

extension Change.Accounts {
    /// - Parameter account: locked.
    func delete(_ account: Account, recording event: AuditEvent, reason: AccountEvent.Reason? = nil) async throws {
        for identity in account.identities {
            var revocation = AuditEvent(
                .revocationRequested, by: event.actor, tokenID: event.tokenID, requestID: event.requestID)
            revocation.actorName = event.actorName
            revocation.network = event.network
            try await unlink(identity, of: account.id, reason: .identityUnlinked, event: revocation)
            try await deleteTickets(of: identity.key, where: "true")
            try await change.providerEvents.forgetSubject(of: identity.key, keepingRefusals: false)
        }
        // Who has an account for an address that this one wants, or wants its address, goes on with their code.
        for codes in ["mailed_codes", "email_codes"] as [SQL] {
            _ = try await change.execute(
                """
                DELETE FROM \(codes) c
                USING accounts a
                WHERE a.account_id = \(account.id)
                    AND (c.email = a.email OR (c.email = a.pending_email AND c.purpose = 'verifyEmail'))
                    AND NOT EXISTS (
                        SELECT FROM accounts o
                        WHERE o.account_id <> a.account_id AND (o.email = c.email OR o.pending_email = c.email))
                """)
        }
        // Mail that has not been sent yet is dropped, as it holds the address.
        _ = try await change.execute(
            """
            DELETE FROM outbox o
            USING accounts a
            WHERE a.account_id = \(account.id) AND o.kind = 'mail' AND (o.recipient = a.email
                OR (o.recipient = a.pending_email AND o.template = \(Mail.Kind.verifyEmailCode.rawValue)))
            """)
        // Skipped likewise.
        _ = try await change.execute(
            """
            DELETE FROM mailbox_tickets
            WHERE ticket_hash IN (
                SELECT t.ticket_hash
                FROM mailbox_tickets t
                WHERE t.email = \(account.email?.text)
                FOR UPDATE SKIP LOCKED)
            """)
        _ = try await change.execute("DELETE FROM accounts WHERE account_id = \(account.id)")
        change.announce(.accountDeleted(by: cause, reason), of: account.id, externalID: account.externalID)
        var event = event
        event.accountID = account.id
        try await change.record(event)
    }

    /// Ends all by which the account is entered now: its sessions, its OAuth clients, and what the tokens were good for that
    /// the providers of its identities have issued.
    ///
    /// - Parameter id: of an account that is locked.
    func endAccess(to id: AccountID, because reason: SessionEndReason) async throws(PostgresError) {
        try await endSessions(of: id, because: reason)
        try await change.identities.refuseTokens(issuedBefore: now, of: id)
    }

    /// Ends the account's sessions and unlinks its OAuth clients.
    ///
    /// - Parameter id: of an account that is locked.
    func endSessions(of id: AccountID, because reason: SessionEndReason) async throws(PostgresError) {
        try await change.sessions.end(.ofAccount(id), because: reason)
        try await change.oauthGrants.end(allOf: id, because: reason)
    }

    /// Ends the identity's sessions and authorization, and deletes its link.
    ///
    /// - Parameters:
    ///   - accountID: the account that has it, locked.
    ///   - unlinker: on whose account; the caller's if absent.
    @discardableResult
    func unlink(
        _ identity: Identity, of accountID: AccountID, reason: SessionEndReason, event: AuditEvent,
        by unlinker: AccountEvent.Cause? = nil
    ) async throws -> Revocation {
        let revocation = try await endAuthorization(of: identity, in: accountID, reason: reason, event: event)
        try await deleteLink(of: identity, in: accountID, refusingTokensUntil: now, by: unlinker ?? cause)
        return revocation
    }

    /// Deletes the link alone, and announces it. A token from before links the identity again only with a proof, and one that
    /// was refused before stays so for as long as it may be good.
    func deleteLink(
        of identity: Identity, in owner: AccountID, refusingTokensUntil time: Timestamp, by unlinker: AccountEvent.Cause
    ) async throws(PostgresError) {
        _ = try await change.execute(
            """
            WITH gone AS (
                DELETE FROM identities
                WHERE identity_id = \(identity.id)
                RETURNING provider, realm, subject, not_before
            )
            INSERT INTO refused_tokens (subject_digest, not_before)
            SELECT \(IdentityStore.subjectDigest(of: "provider", "realm", "subject")), not_before
            FROM gone
            WHERE not_before > \(now.advanced(bySeconds: -Lifetimes.refusedTokenRetentionSeconds))
            ON CONFLICT (subject_digest) DO UPDATE
            SET not_before = GREATEST(refused_tokens.not_before, EXCLUDED.not_before)
            """)
        // The provider's word for the address may have been this identity's. Another one of the provider is no predecessor by
        // it; one that states the address still says so again at its next sign-in.
        _ = try await change.execute(
            """
            UPDATE accounts
            SET email_proof_source = NULL
            WHERE account_id = \(owner) AND email_proof_source = \(EmailProof.Source.authoritativeProvider.rawValue)
            """)
        try await deleteTickets(of: identity.key, where: "t.consumed_at IS NOT NULL")
        try await change.providerEvents.forgetSubject(of: identity.key)
        try await change.identities.refuseProofs(issuedBefore: time, of: owner)
        change.announce(.identityUnlinked(identity.id, identity.key.provider, by: unlinker), of: owner)
    }

    /// Deletes link tickets, which hold the person's address and name. One that is being spent is skipped: its transaction may be
    /// waiting for this account.
    ///
    /// - Parameter condition: on `link_tickets`, named `t`.
    private func deleteTickets(of key: IdentityKey, where condition: SQL) async throws(PostgresError) {
        let deleted = try await change.query(
            """
            DELETE FROM link_tickets
            WHERE ticket_hash IN (
                SELECT t.ticket_hash
                FROM link_tickets t
                WHERE \(key.condition) AND \(condition)
                    AND NOT EXISTS (SELECT FROM provider_grants g WHERE g.ticket_hash = t.ticket_hash)
                FOR UPDATE SKIP LOCKED)
            RETURNING ticket_hash
            """, as: SecretHash.self)
        guard !deleted.isEmpty else { return }
        // Without its ticket a mailbox that was read for it would be a ticket of its own.
        _ = try await change.execute("DELETE FROM mailbox_tickets WHERE ticket_hash = ANY (\(deleted))")
    }

    /// Ends the identity's sessions and authorization, and keeps its link: an authentication at the provider from before now is
    /// refused.
    ///
    /// - Parameter accountID: the account that has it, locked.
    func revokeAuthorization(
        of identity: Identity, in accountID: AccountID, event: AuditEvent
    ) async throws -> Revocation {
        let revocation = try await endAuthorization(
            of: identity, in: accountID, reason: .authorizationRevoked, event: event)
        let status: Identity.Authorization = revocation.status == .pending ? .revoking : .revoked
        _ = try await change.execute(
            """
            UPDATE identities
            SET authorization_status = \(status.rawValue)
            WHERE identity_id = \(identity.id)
            """)
        try await refuseTokens(of: identity.id)
        return revocation
    }

    /// Refuses the identity's tokens and authentications from before now.
    func refuseTokens(of id: IdentityID) async throws(PostgresError) {
        _ = try await change.execute(
            "UPDATE identities SET not_before = GREATEST(not_before, \(now)) WHERE identity_id = \(id)")
    }

    fileprivate func endAuthorization(
        of identity: Identity, in accountID: AccountID, reason: SessionEndReason, event: AuditEvent
    ) async throws -> Revocation {
        // Before the link is deleted, which clears the sessions' reference to the identity.
        try await change.sessions.end(.openedBy(identity.id), because: reason)
        let revocation = try await change.revocations.begin(identity.key, identityID: identity.id, of: accountID)
        var event = event
        event.accountID = accountID
        event.identityID = identity.id
        event.revocationID = revocation.id
        event.provider = identity.key.provider
        try await change.record(event)
        return revocation
    }
}
